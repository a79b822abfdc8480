#include "server/core/records.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/secret.h"
#include "base/status_macros.h"
#include "server/core/config.h"
#include "server/core/digests.h"
#include "server/core/handles.h"
#include "server/core/vectors.h"

namespace expunge::core {
namespace {

absl::StatusOr<Digest> RequireDigest(absl::string_view bytes, absl::string_view what) {
  const std::optional<Digest> digest = DigestFromBytes(bytes);
  if (!digest.has_value()) return absl::InvalidArgumentError(absl::StrCat(what, " is not 32 bytes"));
  return *digest;
}

absl::StatusOr<std::vector<double>> RequireDoubles(absl::string_view bytes, size_t count,
                                                   absl::string_view what) {
  EXPUNGE_ASSIGN_OR_RETURN(std::vector<double> elements, UnpackDoubles(bytes));
  if (elements.size() != count) return absl::InvalidArgumentError(absl::StrCat(what, " has a wrong size"));
  return elements;
}

storage::v1::ProofRecord EncodeProof(const solver::Proof& proof) {
  storage::v1::ProofRecord record;
  record.set_strict(proof.strict);
  record.set_higher_precision(proof.higher_precision);
  record.set_ties(proof.ties);
  record.set_margin_lower(proof.margin_lower);
  record.set_weight_distance_lower(proof.weight_distance_lower);
  record.set_duality_gap_upper(proof.duality_gap_upper);
  record.set_eigenvalue_lower(proof.eigenvalue_lower);
  record.set_eta(proof.eta);
  return record;
}

solver::Proof DecodeProof(const storage::v1::ProofRecord& record) {
  solver::Proof proof;
  proof.strict = record.strict();
  proof.higher_precision = record.higher_precision();
  proof.ties = record.ties();
  proof.margin_lower = record.margin_lower();
  proof.weight_distance_lower = record.weight_distance_lower();
  proof.duality_gap_upper = record.duality_gap_upper();
  proof.eigenvalue_lower = record.eigenvalue_lower();
  proof.eta = record.eta();
  return proof;
}

absl::Status WrongClasses() {
  return absl::InvalidArgumentError("the state's classes do not match its tokens");
}

absl::StatusOr<std::vector<HeldEntry>> DecodeEntries(const storage::v1::StateRecord& record,
                                                     size_t token_count) {
  const std::string& classes = record.support_classes();
  const auto count = static_cast<size_t>(record.support_size());
  if (classes.size() != count) return WrongClasses();
  EXPUNGE_ASSIGN_OR_RETURN(const std::vector<double> weights,
                           RequireDoubles(record.support_weights(), count, "the list of weights"));
  std::vector<HeldEntry> entries;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t index = record.support(static_cast<int>(i));
    const bool ascends = entries.empty() || entries.back().index < index;
    if (!ascends || index >= token_count || (classes[i] != 'S' && classes[i] != 'E')) return WrongClasses();
    entries.push_back({index, static_cast<solver::TokenClass>(classes[i]), weights[i]});
  }
  return entries;
}

// REQUIRES: `tokens` has all that the selection refers to.
storage::v1::SelectionRecord EncodeSelection(const HeldSelection& selection, const TokenSequence& tokens) {
  const solver::Selection& claim = *selection.claim;
  storage::v1::SelectionRecord record;
  record.set_certificate(selection.certificate);
  record.set_rho(claim.rho());
  record.set_margin_lower(claim.margin_lower());
  record.set_dropped(claim.dropped());
  record.set_erased_weight_upper(claim.erased_weight_upper());
  std::vector<double> weights;
  for (const solver::SupportEntry& entry : claim.reference()) {
    record.add_reference(static_cast<uint32_t>(tokens.Place(entry.token->id)));
    weights.push_back(entry.weight);
  }
  record.set_reference_weights(PackDoubles(weights));
  return record;
}

absl::Status WrongSelection() {
  return absl::InvalidArgumentError("a selection of the state does not match its tokens");
}

absl::StatusOr<HeldSelection> DecodeSelection(const storage::v1::SelectionRecord& record,
                                              const solver::Config& config, const HeldTokens& tokens) {
  const auto count = static_cast<size_t>(record.reference_size());
  EXPUNGE_ASSIGN_OR_RETURN(
      const std::vector<double> weights,
      RequireDoubles(record.reference_weights(), count, "a selection's list of weights"));
  std::vector<solver::SupportEntry> reference;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t place = record.reference(static_cast<int>(i));
    const bool ascends = i == 0 || record.reference(static_cast<int>(i) - 1) < place;
    if (!ascends || place >= tokens.size() || !(weights[i] >= 0 && weights[i] <= 1)) return WrongSelection();
    // The claim looks at weights alone.
    reference.push_back({tokens[place]->token, solver::TokenClass::kMargin, weights[i]});
  }
  const bool bounded = record.margin_lower() >= 0 && record.erased_weight_upper() >= 0;
  if (!bounded || record.certificate() == 0 || record.dropped() == 0) return WrongSelection();
  return HeldSelection{record.certificate(),
                       std::make_shared<const solver::Selection>(config, std::move(reference), record.rho(),
                                                                 record.margin_lower(), record.dropped(),
                                                                 record.erased_weight_upper())};
}

// The latest certificate last; only a memory of which tokens were dropped has any.
absl::StatusOr<HeldSelections> DecodeSelections(const storage::v1::StateRecord& record,
                                                const solver::Config& config, const HeldTokens& tokens) {
  HeldSelections selections;
  if (record.selections_size() > 0 && !record.retained_set()) return WrongSelection();
  for (const storage::v1::SelectionRecord& selection : record.selections()) {
    EXPUNGE_ASSIGN_OR_RETURN(HeldSelection held, DecodeSelection(selection, config, tokens));
    if (!selections.empty() && selections.back().certificate >= held.certificate) return WrongSelection();
    selections.push_back(std::move(held));
  }
  return selections;
}

}  // namespace

bool ParseRecord(const storage::OpenRecord& opened, google::protobuf::MessageLite* record) {
  return record->ParseFromArray(opened.bytes.data(), static_cast<int>(opened.bytes.size()));
}

storage::v1::MemoryRecord EncodeMemory(const MemoryIdentity& identity, const Chain& chain) {
  storage::v1::MemoryRecord record;
  record.set_tenant(identity.tenant);
  record.set_memory(identity.memory);
  *record.mutable_config() = ConfigToRecord(identity.config);
  record.set_create_time_unix_nanos(absl::ToUnixNanos(identity.create_time));
  record.set_audit_key(ToBytes(identity.audit_key));
  record.set_next_sequence(chain.next_sequence);
  record.set_last_payload_sha256(ToBytes(chain.last_payload_sha256));
  return record;
}

storage::v1::TokenRecord EncodeToken(const HeldToken& token) {
  storage::v1::TokenRecord record;
  record.set_id(token.token->id);
  for (const std::string& subject : token.subjects) record.add_subjects(subject);
  record.set_key(PackDoubles(token.token->key));
  record.set_value(PackDoubles(token.token->value));
  record.set_salt(ToBytes(token.salt));
  record.set_commitment(ToBytes(token.commitment));
  record.set_handle(ToBytes(token.handle));
  record.set_added_by(token.added_by);
  record.set_added_index(token.added_index);
  return record;
}

storage::v1::StateRecord EncodeState(const MemoryView& view) {
  const MemoryContent& content = view.content();
  storage::v1::StateRecord record;
  record.set_epoch(view.epoch());
  std::vector<double> weights;
  for (const HeldEntry& entry : content.entries) {
    record.add_support(entry.index);
    record.mutable_support_classes()->push_back(static_cast<char>(entry.token_class));
    weights.push_back(entry.weight);
  }
  record.set_support_weights(PackDoubles(weights));
  record.set_rho(content.rho);
  *record.mutable_proof() = EncodeProof(content.proof);
  record.set_state_digest(ToBytes(view.summary().state_digest));
  record.set_token_root(ToBytes(view.summary().token_root));
  record.set_entries_root(ToBytes(view.summary().entries_root));
  record.set_retained_set(content.scope == certificate::Scope::kRetainedSet);
  for (const HeldSelection& selection : content.selections) {
    *record.add_selections() = EncodeSelection(selection, content.tokens);
  }
  return record;
}

absl::StatusOr<DecodedMemory> DecodeMemory(const storage::v1::MemoryRecord& record) {
  MemoryIdentity identity;
  identity.tenant = record.tenant();
  identity.memory = record.memory();
  identity.config = ConfigFromRecord(record.config());
  if (!solver::ValidateConfig(identity.config).ok()) {
    return absl::InvalidArgumentError("the configuration is none that a memory can have");
  }
  identity.create_time = absl::FromUnixNanos(record.create_time_unix_nanos());
  EXPUNGE_ASSIGN_OR_RETURN(identity.audit_key, RequireDigest(record.audit_key(), "the audit key"));
  identity.pseudonym = MemoryPseudonym(identity.audit_key, identity.Name());
  DecodedMemory decoded;
  decoded.chain.next_sequence = record.next_sequence();
  EXPUNGE_ASSIGN_OR_RETURN(decoded.chain.last_payload_sha256,
                           RequireDigest(record.last_payload_sha256(), "the hash of the last payload"));
  decoded.identity = std::make_shared<const MemoryIdentity>(std::move(identity));
  return decoded;
}

absl::StatusOr<std::shared_ptr<const HeldToken>> DecodeToken(const MemoryIdentity& identity,
                                                             const storage::v1::TokenRecord& record,
                                                             storage::Slot key_slot) {
  solver::Token token;
  token.id = record.id();
  EXPUNGE_ASSIGN_OR_RETURN(token.key,
                           RequireDoubles(record.key(), identity.config.key_dimension, "a token's key"));
  EXPUNGE_ASSIGN_OR_RETURN(
      token.value, RequireDoubles(record.value(), identity.config.value_dimension, "a token's value"));
  HeldToken held;
  held.token = ShareToken(std::move(token));
  held.subjects.assign(record.subjects().begin(), record.subjects().end());
  EXPUNGE_ASSIGN_OR_RETURN(held.salt, RequireDigest(record.salt(), "a token's salt"));
  EXPUNGE_ASSIGN_OR_RETURN(held.commitment, RequireDigest(record.commitment(), "a token's commitment"));
  EXPUNGE_ASSIGN_OR_RETURN(held.handle, RequireDigest(record.handle(), "a token's handle"));
  held.added_by = record.added_by();
  held.added_index = record.added_index();
  held.key_slot = key_slot;
  return std::make_shared<const HeldToken>(std::move(held));
}

void WipeRecord(storage::v1::TokenRecord* record) {
  Wipe(record->mutable_id());
  for (std::string& subject : *record->mutable_subjects()) Wipe(&subject);
  Wipe(record->mutable_key());
  Wipe(record->mutable_value());
  Wipe(record->mutable_salt());
}

absl::StatusOr<MemoryContent> DecodeState(const storage::v1::StateRecord& record,
                                          const solver::Config& config, const HeldTokens& tokens) {
  MemoryContent content;
  EXPUNGE_ASSIGN_OR_RETURN(content.entries, DecodeEntries(record, tokens.size()));
  content.rho = record.rho();
  content.proof = DecodeProof(record.proof());
  content.tree = TreeOf(tokens);
  content.tokens = TokenSequence(tokens);
  if (record.retained_set()) content.scope = certificate::Scope::kRetainedSet;
  EXPUNGE_ASSIGN_OR_RETURN(content.selections, DecodeSelections(record, config, tokens));
  return content;
}

}  // namespace expunge::core
