#include "server/core/memory.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/status_macros.h"
#include "certificate/commitment.h"
#include "server/core/config.h"
#include "server/core/digests.h"
#include "server/core/handles.h"
#include "server/core/names.h"
#include "server/core/times.h"
#include "solver/reference_solver.h"

namespace expunge::core {
namespace {

solver::TokenList PlainTokens(const HeldTokens& tokens) {
  solver::TokenList plain;
  plain.reserve(tokens.size());
  for (const auto& held : tokens) plain.push_back(held->token);
  return plain;
}

certificate::StateSummary Summarize(const MemoryIdentity& identity, uint64_t epoch,
                                    const solver::MemoryState& state, const HeldTokens& tokens) {
  certificate::StateSummary summary;
  summary.epoch = epoch;
  summary.token_count = tokens.size();
  for (const solver::TokenClass token_class : state.solution.classes) {
    summary.margin += token_class == solver::TokenClass::kMargin ? 1 : 0;
    summary.error += token_class == solver::TokenClass::kError ? 1 : 0;
    summary.reserve += token_class == solver::TokenClass::kReserve ? 1 : 0;
  }
  const solver::Proof& proof = state.solution.proof;
  summary.strict = proof.strict;
  summary.higher_precision = proof.higher_precision;
  summary.ties = proof.ties;
  summary.margin_lower = proof.margin_lower;
  summary.weight_distance_lower = proof.weight_distance_lower;
  summary.duality_gap_upper = proof.duality_gap_upper;
  summary.eigenvalue_lower = proof.eigenvalue_lower;
  summary.eta = proof.eta;

  std::vector<TokenDigests> parts;
  parts.reserve(tokens.size());
  for (const auto& held : tokens) parts.push_back({held->handle, held->commitment});
  const StateDigests digests = ComputeDigests(identity.audit_key, state, parts);
  summary.state_digest = digests.state;
  summary.token_root = digests.token_root;
  summary.entries_root = digests.entries_root;
  return summary;
}

}  // namespace

std::string MemoryIdentity::Name() const { return FormatMemoryName(tenant, memory); }

std::shared_ptr<const MemoryIdentity> MakeIdentity(const std::string& tenant, const std::string& memory,
                                                   const solver::Config& config, absl::Time create_time) {
  const Digest audit_key = RandomDigest();
  const Digest pseudonym = MemoryPseudonym(audit_key, FormatMemoryName(tenant, memory));
  return std::make_shared<const MemoryIdentity>(
      MemoryIdentity{tenant, memory, config, create_time, audit_key, pseudonym});
}

bool HeldToken::Names(absl::string_view subject) const {
  return std::any_of(subjects.begin(), subjects.end(),
                     [subject](const std::string& name) { return name == subject; });
}

HeldToken MakeHeldToken(const MemoryIdentity& identity, solver::Token token,
                        std::vector<std::string> subjects) {
  HeldToken held;
  held.handle = TokenHandle(identity.audit_key, token.id);
  held.token = std::make_shared<const solver::Token>(std::move(token));
  held.subjects = std::move(subjects);
  held.salt = RandomDigest();
  held.commitment = ExpectedCommitment(identity, held);
  return held;
}

Digest ExpectedCommitment(const MemoryIdentity& identity, const HeldToken& token) {
  return certificate::TokenCommitment(token.salt,
                                      FormatTokenName(identity.tenant, identity.memory, token.token->id),
                                      token.subjects, token.token->key, token.token->value);
}

MemoryView::MemoryView(std::shared_ptr<const MemoryIdentity> identity, uint64_t epoch, HeldTokens tokens,
                       solver::Solution solution)
    : identity_(std::move(identity)),
      tokens_(std::move(tokens)),
      state_{identity_->config, PlainTokens(tokens_), std::move(solution)},
      support_(state_),
      summary_(Summarize(*identity_, epoch, state_, tokens_)),
      fingerprint_(solver::Fingerprint(state_)) {}

size_t MemoryView::Find(absl::string_view token_id) const {
  const auto found =
      std::lower_bound(tokens_.begin(), tokens_.end(), token_id,
                       [](const auto& held, absl::string_view id) { return held->token->id < id; });
  if (found == tokens_.end() || (*found)->token->id != token_id) return tokens_.size();
  return static_cast<size_t>(found - tokens_.begin());
}

v1::StateReference MemoryView::ReferenceProto() const {
  v1::StateReference reference;
  reference.set_epoch(summary_.epoch);
  reference.set_digest(ToBytes(summary_.state_digest));
  return reference;
}

v1::Partition MemoryView::PartitionProto() const {
  v1::Partition partition;
  partition.set_margin(summary_.margin);
  partition.set_error(summary_.error);
  partition.set_reserve(summary_.reserve);
  return partition;
}

v1::Memory MemoryView::ToProto(bool full) const {
  v1::Memory memory;
  memory.set_name(identity_->Name());
  *memory.mutable_config() = ConfigToProto(identity_->config);
  *memory.mutable_create_time() = TimestampProto(identity_->create_time);
  memory.set_token_count(tokens_.size());
  *memory.mutable_state() = ReferenceProto();
  if (!full) return memory;
  *memory.mutable_partition() = PartitionProto();
  v1::ProofSummary* proof = memory.mutable_proof();
  proof->set_strict(summary_.strict);
  proof->set_higher_precision(summary_.higher_precision);
  proof->set_ties(summary_.ties);
  proof->set_margin_lower(summary_.margin_lower);
  proof->set_weight_distance_lower(summary_.weight_distance_lower);
  proof->set_duality_gap_upper(summary_.duality_gap_upper);
  proof->set_eigenvalue_lower(summary_.eigenvalue_lower);
  proof->set_eta(summary_.eta);
  memory.set_fingerprint(ToBytes(fingerprint_));
  return memory;
}

absl::StatusOr<std::shared_ptr<const MemoryView>> SolveView(std::shared_ptr<const MemoryIdentity> identity,
                                                            uint64_t epoch, HeldTokens tokens) {
  EXPUNGE_ASSIGN_OR_RETURN(solver::Solution solution,
                           solver::SolveFromNothing(identity->config, PlainTokens(tokens)));
  return std::make_shared<const MemoryView>(std::move(identity), epoch, std::move(tokens),
                                            std::move(solution));
}

}  // namespace expunge::core
