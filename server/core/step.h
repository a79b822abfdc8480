// One change of a memory's tokens: from a snapshot to the next, by its live solver.
#ifndef EXPUNGE_SERVER_CORE_STEP_H_
#define EXPUNGE_SERVER_CORE_STEP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/context.h"
#include "server/core/memory.h"
#include "server/core/tenant.h"
#include "solver/exact_memory.h"

namespace expunge::core {

struct Step {
  Snapshot before;
  Snapshot after;
  HeldTokens added;                             // in `after` alone
  HeldTokens removed;                           // in `before` alone
  std::unique_ptr<solver::ExactMemory> solver;  // in the state of `after`
};

// With `added`, in any order. REQUIRES: their ids are distinct, and none of them is in `before`.
// Cost: as ExactMemory::Add, O(|S+E|) hashes, O(log n) more for each token, and what TokenSequence takes; and
// that of LiveSolvers::Take. Returns: kRidgeTooSmall; kInternal of the solver.
[[nodiscard]] absl::StatusOr<Step> StepByAdding(const Context& context, const Snapshot& before,
                                                HeldTokens added);

// Without the reserve tokens that `request` chooses, with a new selection under the number `certificate`, and
// with the scope of the retained set. If none is chosen, `removed` is empty, and the step must not be made.
// Cost: as StepByRemoving, with ExactMemory::Evict. Returns: kTokenInSupport with the solver's field
// ("ids[i]"); kInternal of the solver. After an error the memory's live solver is kept; a step that is not
// made costs its memory a new one. REQUIRES: the chosen ids are distinct, and in `before`.
[[nodiscard]] absl::StatusOr<Step> StepByDropping(const Context& context, const Snapshot& before,
                                                  const solver::EvictionRequest& request,
                                                  uint64_t certificate);

// Without the tokens at `places` (ascending): exactly the state of a memory that never held them.
// Cost: as StepByAdding, with ExactMemory::Remove. Returns: kInternal of the solver.
[[nodiscard]] absl::StatusOr<Step> StepByRemoving(const Context& context, const Snapshot& before,
                                                  const std::vector<size_t>& places);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_STEP_H_
