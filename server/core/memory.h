// One memory at one moment: an immutable snapshot with everything that a call may need.
//
// Invariants.  (1) tokens ascend by the bytes of their ids. (2) entries, rho and the classes that follow are
// the canonical solution of the tokens. (3) tree, digests, fingerprint and support belong to this very state.
// Snapshots share the tokens that they have in common, and most of the tree.
#ifndef EXPUNGE_SERVER_CORE_MEMORY_H_
#define EXPUNGE_SERVER_CORE_MEMORY_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "attention/readout.h"
#include "base/bytes.h"
#include "certificate/statement.h"
#include "certificate/token_tree.h"
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

// A token that carries weight; every other one is in reserve.
struct HeldEntry {
  uint32_t index = 0;                                            // into MemoryView::tokens()
  solver::TokenClass token_class = solver::TokenClass::kMargin;  // or kError
  double weight = 0;
};

// What a snapshot consists of.
struct MemoryContent {
  HeldTokens tokens;               // ascending by the bytes of their ids
  certificate::TokenTree tree;     // TreeOf(tokens)
  std::vector<HeldEntry> entries;  // S and E, ascending by index
  double rho = 0;
  solver::Proof proof;
};

[[nodiscard]] std::vector<certificate::TreeLeaf> LeavesOf(const HeldTokens& tokens);
// Cost: O(n) hashes.
[[nodiscard]] certificate::TokenTree TreeOf(const HeldTokens& tokens);
// The entries of a solution, index by index.
[[nodiscard]] std::vector<HeldEntry> EntriesOf(const solver::Solution& solution);

class MemoryView {
 public:
  // REQUIRES: classes, weights and rho of `content` are the canonical solution of its tokens. What follows
  // from the entries alone is shared with `before`, a snapshot of the same memory, if they are the same.
  // Cost: O(|S+E| (d + dv)) and as many hashes; one hash of O(|S+E|) bytes if they are.
  MemoryView(std::shared_ptr<const MemoryIdentity> identity, uint64_t epoch, MemoryContent content,
             const MemoryView* before = nullptr);

  [[nodiscard]] const MemoryIdentity& identity() const { return *identity_; }
  [[nodiscard]] const std::shared_ptr<const MemoryIdentity>& shared_identity() const { return identity_; }
  [[nodiscard]] const MemoryContent& content() const { return content_; }
  [[nodiscard]] const HeldTokens& tokens() const { return content_.tokens; }
  // Contributions name the places of entries.
  [[nodiscard]] const attention::SupportSet& support() const { return *support_; }
  [[nodiscard]] const certificate::StateSummary& summary() const { return summary_; }
  [[nodiscard]] uint64_t epoch() const { return summary_.epoch; }

  [[nodiscard]] const solver::Token& TokenOf(const HeldEntry& entry) const {
    return *tokens()[entry.index]->token;
  }
  // The index of the token with this id, or tokens().size(). Cost: O(log n).
  [[nodiscard]] size_t Find(absl::string_view token_id) const;
  // Class and weight of the token at `index`. Cost: O(log |S+E|).
  [[nodiscard]] HeldEntry EntryAt(size_t index) const;

  // All of it, as the solver sees it. Cost: O(n).
  [[nodiscard]] solver::MemoryState State() const;
  // solver::Fingerprint. Cost: O(n (d + dv)) the first time. Threads: any number at once.
  [[nodiscard]] const Digest& Fingerprint() const;

  [[nodiscard]] v1::StateReference ReferenceProto() const;
  [[nodiscard]] v1::Partition PartitionProto() const;
  // Cost: that of Fingerprint() if `full`.
  [[nodiscard]] v1::Memory ToProto(bool full) const;

 private:
  const std::shared_ptr<const MemoryIdentity> identity_;
  const MemoryContent content_;
  const std::shared_ptr<const attention::SupportSet> support_;
  const certificate::StateSummary summary_;
  mutable std::once_flag fingerprint_once_;
  mutable Digest fingerprint_{};
};

// The snapshot of no tokens.
[[nodiscard]] absl::StatusOr<std::shared_ptr<const MemoryView>> EmptyView(
    std::shared_ptr<const MemoryIdentity> identity, uint64_t epoch);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_MEMORY_H_
