#include "server/core/load.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "server/core/digests.h"
#include "server/core/handles.h"
#include "solver/reference_solver.h"

namespace expunge::core {
namespace {

absl::Status CheckDigests(const MemoryView& view, const storage::v1::StateRecord& record) {
  // They cover all that the fingerprint covers: every token by its commitment, and the rest as is.
  if (AsView(view.summary().state_digest) != record.state_digest() ||
      AsView(view.summary().token_root) != record.token_root() ||
      AsView(view.summary().entries_root) != record.entries_root()) {
    return absl::InvalidArgumentError("tokens and state do not match the stored digests");
  }
  return absl::OkStatus();
}

bool SameBits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

}  // namespace

absl::Status LiveKeys::Add(storage::KeyName key, storage::Slot parent) {
  if (key.slot != 0 && key.parent == parent && slots_.insert(key.slot).second) return absl::OkStatus();
  return absl::InvalidArgumentError("a record is sealed under a key that is not its own");
}

absl::StatusOr<Digest> ReadSecret(const storage::OpenRecord& opened) {
  storage::v1::SecretRecord record;
  const bool parsed = ParseRecord(opened, &record);
  const std::optional<Digest> secret = parsed ? DigestFromBytes(record.key()) : std::nullopt;
  if (secret.has_value()) return *secret;
  return absl::InvalidArgumentError("the store's secret is unreadable");
}

absl::StatusOr<storage::v1::TenantRecord> ReadTenant(const Digest& secret, absl::string_view handle,
                                                     const storage::OpenRecord& opened) {
  storage::v1::TenantRecord record;
  if (!ParseRecord(opened, &record)) return absl::InvalidArgumentError("a tenant's record is unreadable");
  if (AsView(TenantHandle(secret, record.name())) == handle) return record;
  return absl::InvalidArgumentError("a tenant's record is under a wrong key");
}

absl::StatusOr<DecodedMemory> ReadMemory(absl::string_view pseudonym, const storage::OpenRecord& opened) {
  storage::v1::MemoryRecord record;
  if (!ParseRecord(opened, &record)) return absl::InvalidArgumentError("its record is unreadable");
  EXPUNGE_ASSIGN_OR_RETURN(DecodedMemory decoded, DecodeMemory(record));
  if (AsView(decoded.identity->pseudonym) == pseudonym) return decoded;
  return absl::InvalidArgumentError("its record is under a wrong key");
}

absl::StatusOr<std::shared_ptr<const HeldToken>> ReadToken(const MemoryIdentity& memory,
                                                           absl::string_view handle,
                                                           const storage::OpenRecord& opened) {
  storage::v1::TokenRecord record;
  if (!ParseRecord(opened, &record)) return absl::InvalidArgumentError("a token's record is unreadable");
  auto held = DecodeToken(memory, record, opened.key.slot);
  WipeRecord(&record);
  EXPUNGE_RETURN_IF_ERROR(held.status());
  if (AsView((*held)->handle) != handle ||
      (*held)->handle != TokenHandle(memory.audit_key, (*held)->token->id)) {
    return absl::InvalidArgumentError("a token is under a wrong handle");
  }
  if ((*held)->commitment == ExpectedCommitment(memory, **held)) return held;
  return absl::InvalidArgumentError("a token does not match its commitment");
}

void SortTokens(HeldTokens* tokens) {
  std::sort(tokens->begin(), tokens->end(),
            [](const auto& a, const auto& b) { return a->token->id < b->token->id; });
}

absl::StatusOr<Snapshot> ReadState(const std::shared_ptr<const MemoryIdentity>& memory, storage::KeyName key,
                                   const storage::OpenRecord& opened, const HeldTokens& tokens) {
  if (!solver::ValidateRidge(memory->config, tokens.size()).ok()) {
    return absl::InvalidArgumentError("it has more tokens than its ridge allows");
  }
  storage::v1::StateRecord record;
  if (!ParseRecord(opened, &record) || opened.key != key) {
    return absl::InvalidArgumentError("its state is unreadable");
  }
  EXPUNGE_ASSIGN_OR_RETURN(MemoryContent content, DecodeState(record, memory->config, tokens));
  auto view = std::make_shared<const MemoryView>(memory, record.epoch(), std::move(content));
  EXPUNGE_RETURN_IF_ERROR(CheckDigests(*view, record));
  return view;
}

// The stored classes are where it starts, no more: whatever it starts from, it proves what it ends with.
absl::Status CheckBySolving(const MemoryView& view) {
  const solver::MemoryState state = view.State();
  solver::SolveOptions options;
  options.proposal = state.solution.classes;
  EXPUNGE_ASSIGN_OR_RETURN(const solver::Solution again,
                           solver::SolveFromNothing(state.config, state.tokens, options));
  const std::vector<HeldEntry> expected = EntriesOf(again);
  const std::vector<HeldEntry>& stored = view.content().entries;
  const bool same = SameBits(again.rho, view.content().rho) &&
                    std::equal(stored.begin(), stored.end(), expected.begin(), expected.end(),
                               [](const HeldEntry& a, const HeldEntry& b) {
                                 return a.index == b.index && a.token_class == b.token_class &&
                                        SameBits(a.weight, b.weight);
                               });
  if (same) return absl::OkStatus();
  return absl::InvalidArgumentError("the stored state is not the canonical solution of its tokens");
}

}  // namespace expunge::core
