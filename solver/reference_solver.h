// The canonical state from nothing: by definition, not by an update.
//
// Method.  A working-set and active-set solver in doubles proposes a partition. The bordered system of the
// proposal is then solved in double-double over correctly rounded kernel values, and a verified error bound
// proves every rounding, every class and every sign. What it cannot decide goes to ball arithmetic (160, 256
// bits), and what that cannot decide, to exact rational arithmetic. A proposal that fails is repaired by
// pivoting; in the last resort by an active-set method in rationals, which is finite. So the answer is right
// whatever the floating-point part does: only the time depends on it.
#ifndef EXPUNGE_SOLVER_REFERENCE_SOLVER_H_
#define EXPUNGE_SOLVER_REFERENCE_SOLVER_H_

#include "absl/status/statusor.h"
#include "solver/memory_state.h"

namespace expunge::solver {

// The lowest arithmetic that may decide. Tests compare them; every choice gives the same bits.
enum class Arithmetic { kDoubleDouble, kBall, kRational };

// How the answer was found; no part of it.
struct SolveReport {
  uint64_t pivots = 0;           // changes of the proposal that a proof forced
  bool rational_pivots = false;  // the last resort was needed
};

struct SolveOptions {
  Arithmetic lowest = Arithmetic::kDoubleDouble;
  // Start from this partition (one class a token) instead of the floating-point proposal; empty: propose.
  std::vector<TokenClass> proposal;
  // Repairs before the last resort. Tests set 0.
  int max_pivots = 200;
  SolveReport* report = nullptr;
};

// Solves (P) for `tokens` and returns their canonical solution, index by index; every list of the same tokens
// in any order gives the same bits token by token. REQUIRES: ValidateConfig(config), every key and value
// normalised, ids distinct. Cost: O(n |S+E| d + |S|^3) for the proof, after a few times as much for the
// proposal, S and E being counted by distinct keys; memory O(n d + |S| |S+E|), and up to 256 MiB of kernel
// rows. Threads: any number of calls at once. Returns:
//   FailedPrecondition  ridge <= n 2^-54.
//   Internal            a defect: a proof failed in exact arithmetic.
[[nodiscard]] absl::StatusOr<Solution> SolveFromNothing(const Config& config, const TokenList& tokens,
                                                        const SolveOptions& options = {});

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_REFERENCE_SOLVER_H_
