// One change of a memory's tokens: from a snapshot to the next.
#ifndef EXPUNGE_SERVER_CORE_STEP_H_
#define EXPUNGE_SERVER_CORE_STEP_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/memory.h"
#include "server/core/tenant.h"

namespace expunge::core {

struct Step {
  Snapshot before;
  Snapshot after;
  HeldTokens added;    // in `after` alone
  HeldTokens removed;  // in `before` alone
};

// With `added`, in any order. REQUIRES: their ids are distinct, and none of them is in `before`.
// Returns: kRidgeTooSmall, kInternal of the solver.
[[nodiscard]] absl::StatusOr<Step> StepByAdding(const Snapshot& before, HeldTokens added);

// Without the tokens at `places` (ascending): exactly the state of a memory that never held them.
// Returns: kInternal of the solver.
[[nodiscard]] absl::StatusOr<Step> StepByRemoving(const Snapshot& before, const std::vector<size_t>& places);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_STEP_H_
