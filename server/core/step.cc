#include "server/core/step.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/status_macros.h"
#include "server/core/selections.h"

namespace expunge::core {
namespace {

absl::Status Disagreement() {
  return MakeError(Reason::kInternal, "", "the solver and the snapshot disagree; nothing was changed");
}

// What the solver says of tokens that the snapshot has, or lacks, can only be a defect.
absl::Status CheckOutcome(const absl::Status& status) {
  if (status.ok() || absl::IsFailedPrecondition(status) || absl::IsInternal(status)) return status;
  return Disagreement();
}

// Finds where tokens of S and E are among `tokens`, asked in ascending order. Most of them were in S or E
// before, too, and moved by as many places as the one before: a look at one pointer, not a search by names.
class Places {
 public:
  Places(const MemoryView& before, const TokenSequence& tokens) : before_(before), tokens_(tokens) {}

  // nullopt if it isn't there.
  std::optional<uint32_t> Of(const solver::Token* token) {
    const std::vector<HeldEntry>& entries = before_.content().entries;
    const auto was = [&] { return &before_.TokenOf(entries[entry_]); };
    while (entry_ < entries.size() && was() != token && was()->id < token->id) ++entry_;
    const bool known = entry_ < entries.size() && was() == token;
    if (known) {
      const ptrdiff_t guess = entries[entry_].index + shift_;
      if (guess >= 0 && static_cast<size_t>(guess) < tokens_.size() && Is(guess, token)) {
        return static_cast<uint32_t>(guess);
      }
    }
    const size_t place = tokens_.Place(token->id);
    if (place == tokens_.size() || tokens_[place]->token->id != token->id) return std::nullopt;
    if (known) shift_ = static_cast<ptrdiff_t>(place) - static_cast<ptrdiff_t>(entries[entry_].index);
    return static_cast<uint32_t>(place);
  }

 private:
  [[nodiscard]] bool Is(ptrdiff_t place, const solver::Token* token) const {
    return tokens_[static_cast<size_t>(place)]->token.get() == token;
  }

  const MemoryView& before_;
  const TokenSequence& tokens_;
  size_t entry_ = 0;     // the first of before_'s that is not below the token asked for last
  ptrdiff_t shift_ = 0;  // how far the tokens there have moved
};

// Completes `content`, which has its tokens and their tree, from the solver's state.
absl::StatusOr<Snapshot> Finish(const MemoryView& before, const solver::ExactMemory& solver,
                                MemoryContent content) {
  if (solver.size() != content.tokens.size()) return Disagreement();
  Places places(before, content.tokens);
  for (const solver::SupportEntry& entry : solver.Support()) {
    const std::optional<uint32_t> place = places.Of(entry.token.get());
    if (!place.has_value()) return Disagreement();
    content.entries.push_back({*place, entry.token_class, entry.weight});
  }
  content.rho = solver.rho();
  content.proof = solver.proof();
  return std::make_shared<const MemoryView>(before.shared_identity(), before.epoch() + 1, std::move(content),
                                            &before);
}

// The tokens of `before` without those at `places`, which ascend and go to `removed`, with their tree, and
// what is left of selections.
MemoryContent Without(const MemoryView& before, const std::vector<size_t>& places, HeldTokens* removed) {
  std::vector<Digest> handles;
  for (const size_t place : places) {
    removed->push_back(before.tokens()[place]);
    handles.push_back(removed->back()->handle);
  }
  MemoryContent content;
  content.tokens = before.tokens().Without(places);
  content.tree = before.content().tree;
  content.tree.Erase(std::move(handles));
  content.scope = before.content().scope;
  content.selections = Forgetting(before.content().selections, *removed);
  return content;
}

}  // namespace

absl::StatusOr<Step> StepByAdding(const Context& context, const Snapshot& before, HeldTokens added) {
  std::sort(added.begin(), added.end(),
            [](const auto& a, const auto& b) { return a->token->id < b->token->id; });
  solver::TokenList tokens;
  for (const auto& held : added) tokens.push_back(held->token);
  Step step;
  EXPUNGE_ASSIGN_OR_RETURN(step.solver, context.solvers->Take(*before));
  EXPUNGE_RETURN_IF_ERROR(CheckOutcome(step.solver->Add(tokens)));

  MemoryContent content;
  content.tokens = before->tokens().With(added);
  content.tree = before->content().tree;
  content.tree.Insert(LeavesOf(added));
  content.scope = before->content().scope;
  content.selections = before->content().selections;
  EXPUNGE_ASSIGN_OR_RETURN(step.after, Finish(*before, *step.solver, std::move(content)));
  step.before = before;
  step.added = std::move(added);
  return step;
}

absl::StatusOr<Step> StepByRemoving(const Context& context, const Snapshot& before,
                                    const std::vector<size_t>& places) {
  Step step;
  std::vector<std::string> ids;
  for (const size_t place : places) ids.push_back(before->tokens()[place]->token->id);
  EXPUNGE_ASSIGN_OR_RETURN(step.solver, context.solvers->Take(*before));
  EXPUNGE_RETURN_IF_ERROR(CheckOutcome(step.solver->Remove(ids)));
  MemoryContent content = Without(*before, places, &step.removed);
  EXPUNGE_ASSIGN_OR_RETURN(step.after, Finish(*before, *step.solver, std::move(content)));
  step.before = before;
  return step;
}

absl::StatusOr<Step> StepByDropping(const Context& context, const Snapshot& before,
                                    const solver::EvictionRequest& request, uint64_t certificate) {
  Step step;
  EXPUNGE_ASSIGN_OR_RETURN(step.solver, context.solvers->Take(*before));
  const auto eviction = step.solver->Evict(request);
  if (!eviction.ok()) {
    context.solvers->Keep(*before, std::move(step.solver));
    return CheckOutcome(eviction.status());
  }
  std::vector<solver::Selection> selections = step.solver->TakeSelections();
  if (eviction->dropped.empty()) return step;
  if (selections.size() != 1) return Disagreement();
  std::vector<size_t> places;
  for (const std::string& id : eviction->dropped) places.push_back(before->Find(id));
  if (std::find(places.begin(), places.end(), before->tokens().size()) != places.end()) return Disagreement();
  MemoryContent content = Without(*before, places, &step.removed);
  content.scope = certificate::Scope::kRetainedSet;
  content.selections.push_back(
      {certificate, std::make_shared<const solver::Selection>(std::move(selections.front()))});
  if (content.selections.size() > kMostSelections) content.selections.erase(content.selections.begin());
  EXPUNGE_ASSIGN_OR_RETURN(step.after, Finish(*before, *step.solver, std::move(content)));
  step.before = before;
  return step;
}

}  // namespace expunge::core
