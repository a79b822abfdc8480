#include "server/core/step.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "solver/reference_solver.h"

namespace expunge::core {
namespace {

// Both ascend by id. Cost: O(m log n) comparisons, and a copy of n pointers.
HeldTokens Merged(const HeldTokens& present, const HeldTokens& added) {
  HeldTokens merged;
  merged.reserve(present.size() + added.size());
  auto from = present.begin();
  for (const auto& held : added) {
    const auto place =
        std::lower_bound(from, present.end(), held->token->id,
                         [](const auto& other, const std::string& id) { return other->token->id < id; });
    merged.insert(merged.end(), from, place);
    merged.push_back(held);
    from = place;
  }
  merged.insert(merged.end(), from, present.end());
  return merged;
}

// Cost: a copy of n pointers.
HeldTokens Without(const HeldTokens& present, const std::vector<size_t>& places) {
  HeldTokens kept;
  kept.reserve(present.size() - places.size());
  auto from = present.begin();
  for (const size_t place : places) {
    const auto removed = present.begin() + static_cast<std::ptrdiff_t>(place);
    kept.insert(kept.end(), from, removed);
    from = removed + 1;
  }
  kept.insert(kept.end(), from, present.end());
  return kept;
}

// Completes `content`, which has its tokens and their tree.
absl::StatusOr<Snapshot> Solve(const MemoryView& before, MemoryContent content) {
  solver::TokenList tokens;
  tokens.reserve(content.tokens.size());
  for (const auto& held : content.tokens) tokens.push_back(held->token);
  EXPUNGE_ASSIGN_OR_RETURN(const solver::Solution solution,
                           solver::SolveFromNothing(before.identity().config, tokens));
  content.entries = EntriesOf(solution);
  content.rho = solution.rho;
  content.proof = solution.proof;
  return std::make_shared<const MemoryView>(before.shared_identity(), before.epoch() + 1, std::move(content));
}

}  // namespace

absl::StatusOr<Step> StepByAdding(const Snapshot& before, HeldTokens added) {
  std::sort(added.begin(), added.end(),
            [](const auto& a, const auto& b) { return a->token->id < b->token->id; });
  MemoryContent content;
  content.tokens = Merged(before->tokens(), added);
  content.tree = before->content().tree;
  content.tree.Insert(LeavesOf(added));
  EXPUNGE_ASSIGN_OR_RETURN(const Snapshot after, Solve(*before, std::move(content)));
  return Step{before, after, std::move(added), {}};
}

absl::StatusOr<Step> StepByRemoving(const Snapshot& before, const std::vector<size_t>& places) {
  HeldTokens removed;
  std::vector<Digest> handles;
  for (const size_t place : places) {
    removed.push_back(before->tokens()[place]);
    handles.push_back(removed.back()->handle);
  }
  MemoryContent content;
  content.tokens = Without(before->tokens(), places);
  content.tree = before->content().tree;
  content.tree.Erase(std::move(handles));
  EXPUNGE_ASSIGN_OR_RETURN(const Snapshot after, Solve(*before, std::move(content)));
  return Step{before, after, {}, std::move(removed)};
}

}  // namespace expunge::core
