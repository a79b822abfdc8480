// One memory at one moment: an immutable snapshot with everything that a call may need.
//
// Invariants.  (1) tokens ascend by the bytes of their ids. (2) entries, rho and the classes that follow are
// the canonical solution of the tokens. (3) tree, digests, fingerprint and support belong to this very state.
// Snapshots share the tokens that they have in common, and most of sequence and tree.
#ifndef EXPUNGE_SERVER_CORE_MEMORY_H_
#define EXPUNGE_SERVER_CORE_MEMORY_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attention/support_set.h"
#include "base/bytes.h"
#include "certificate/statement.h"
#include "certificate/token_tree.h"
#include "expunge/v1/types.pb.h"
#include "server/core/held_token.h"
#include "server/core/token_sequence.h"
#include "solver/memory_state.h"
#include "solver/selection.h"

namespace expunge::core {

// A token that carries weight; every other one is in reserve.
struct HeldEntry {
  uint32_t index = 0;                                            // into MemoryView::tokens()
  solver::TokenClass token_class = solver::TokenClass::kMargin;  // or kError
  double weight = 0;
};

// Tokens that were dropped from the reserve, and the state that the claim about them compares with.
struct HeldSelection {
  uint64_t certificate = 0;  // the number of its first one
  std::shared_ptr<const solver::Selection> claim;
};
using HeldSelections = std::vector<HeldSelection>;  // the oldest first

// So many of a memory are kept; of older ones nothing can be said any more. They are written with each state.
inline constexpr size_t kMostSelections = 16;

// What a snapshot consists of.
struct MemoryContent {
  TokenSequence tokens;            // ascending by the bytes of their ids
  certificate::TokenTree tree;     // TreeOf(tokens)
  std::vector<HeldEntry> entries;  // S and E, ascending by index
  double rho = 0;
  solver::Proof proof;
  // kRetainedSet: tokens were dropped from its reserve once.
  certificate::Scope scope = certificate::Scope::kFullHistory;
  HeldSelections selections;
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
  [[nodiscard]] const TokenSequence& tokens() const { return content_.tokens; }
  // Contributions name the places of entries.
  [[nodiscard]] const attention::SupportSet& support() const { return *support_; }
  [[nodiscard]] const std::shared_ptr<const attention::SupportSet>& shared_support() const {
    return support_;
  }
  [[nodiscard]] const certificate::StateSummary& summary() const { return summary_; }
  [[nodiscard]] uint64_t epoch() const { return summary_.epoch; }

  [[nodiscard]] const solver::Token& TokenOf(const HeldEntry& entry) const {
    return *tokens()[entry.index]->token;
  }
  // The index of the token with this id, or tokens().size(). Cost: O(log n).
  [[nodiscard]] size_t Find(absl::string_view token_id) const;
  // Class and weight of the token at `index`. Cost: O(log |S+E|).
  [[nodiscard]] HeldEntry EntryAt(size_t index) const;

  // The tokens of S and E with their weights, as the solver sees them. Cost: O(|S+E|).
  [[nodiscard]] std::vector<solver::SupportEntry> Support() const;
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
