// One memory at one moment: an immutable snapshot with everything that a call may need.
//
// Invariants.  (1) tokens ascend by the bytes of their ids. (2) state.tokens[i] and tokens[i] are the same
// token. (3) state.solution is the canonical solution of state.tokens. (4) digests, fingerprint, partition
// and support belong to this very state. Snapshots share the tokens that they have in common.
#ifndef EXPUNGE_SERVER_CORE_MEMORY_H_
#define EXPUNGE_SERVER_CORE_MEMORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "attention/readout.h"
#include "base/bytes.h"
#include "certificate/statement.h"
#include "expunge/v1/types.pb.h"
#include "solver/memory_state.h"

namespace expunge::core {

// What never changes in the life of a memory.
struct MemoryIdentity {
  std::string tenant;
  std::string memory;
  solver::Config config;
  absl::Time create_time;
  Digest audit_key{};  // new for every memory, also for one that takes up an old name
  Digest pseudonym{};  // MemoryPseudonym(audit_key, name); also its key in the store

  [[nodiscard]] std::string Name() const;
};

// A new identity with a random audit key.
[[nodiscard]] std::shared_ptr<const MemoryIdentity> MakeIdentity(const std::string& tenant,
                                                                 const std::string& memory,
                                                                 const solver::Config& config,
                                                                 absl::Time create_time);

// A token with all that belongs to it. Never changes; shared between snapshots.
struct HeldToken {
  std::shared_ptr<const solver::Token> token;
  std::vector<std::string> subjects;  // in the order in which the caller gave them
  Digest salt{};
  Digest commitment{};
  Digest handle{};
  std::string added_by;      // the handle of the request that added it; empty: that had no id
  uint32_t added_index = 0;  // its place in that request

  [[nodiscard]] bool Names(absl::string_view subject) const;
};

using HeldTokens = std::vector<std::shared_ptr<const HeldToken>>;

// Completes a token of `identity` with a random salt, its commitment and its handle.
[[nodiscard]] HeldToken MakeHeldToken(const MemoryIdentity& identity, solver::Token token,
                                      std::vector<std::string> subjects);

// The commitment that belongs to `token` as it is (for recovery). Cost: O(size of the token).
[[nodiscard]] Digest ExpectedCommitment(const MemoryIdentity& identity, const HeldToken& token);

class MemoryView {
 public:
  // REQUIRES: `tokens` ascends by id; `solution` is its canonical solution. Cost: O(n (d + dv) + n log n).
  MemoryView(std::shared_ptr<const MemoryIdentity> identity, uint64_t epoch, HeldTokens tokens,
             solver::Solution solution);

  [[nodiscard]] const MemoryIdentity& identity() const { return *identity_; }
  [[nodiscard]] const std::shared_ptr<const MemoryIdentity>& shared_identity() const { return identity_; }
  [[nodiscard]] const solver::MemoryState& state() const { return state_; }
  [[nodiscard]] const HeldTokens& tokens() const { return tokens_; }
  [[nodiscard]] const attention::SupportSet& support() const { return support_; }
  [[nodiscard]] const certificate::StateSummary& summary() const { return summary_; }
  [[nodiscard]] const Digest& fingerprint() const { return fingerprint_; }
  [[nodiscard]] uint64_t epoch() const { return summary_.epoch; }

  // The index of the token with this id, or tokens().size(). Cost: O(log n).
  [[nodiscard]] size_t Find(absl::string_view token_id) const;

  [[nodiscard]] v1::StateReference ReferenceProto() const;
  [[nodiscard]] v1::Partition PartitionProto() const;
  [[nodiscard]] v1::Memory ToProto(bool full) const;

 private:
  std::shared_ptr<const MemoryIdentity> identity_;
  HeldTokens tokens_;
  solver::MemoryState state_;
  attention::SupportSet support_;
  certificate::StateSummary summary_;
  Digest fingerprint_;
};

// The snapshot of `tokens` (ascending by id), solved from nothing.
// Returns: kRidgeTooSmall, kInternal of the solver.
[[nodiscard]] absl::StatusOr<std::shared_ptr<const MemoryView>> SolveView(
    std::shared_ptr<const MemoryIdentity> identity, uint64_t epoch, HeldTokens tokens);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_MEMORY_H_
