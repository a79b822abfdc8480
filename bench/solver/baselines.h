// What the memory is compared with, besides libsvm.
#ifndef EXPUNGE_BENCH_SOLVER_BASELINES_H_
#define EXPUNGE_BENCH_SOLVER_BASELINES_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "bench/solver/measurement.h"
#include "solver/memory_state.h"

namespace expunge::bench {

struct ColdSolve {
  solver::Solution solution;
  double us = 0;  // median
};
// SolveFromNothing on these tokens, `runs` times. REQUIRES: runs > 0. Returns: as SolveFromNothing.
[[nodiscard]] absl::StatusOr<ColdSolve> TimeColdSolve(const solver::Config& config,
                                                      const solver::TokenList& tokens, int runs, Clock clock);

// Microseconds, the median of several, to read rows x n floats once, multiply each row by a number and add
// all up: what the check of all n tokens against the support costs at least, if it reads its kernel rows.
[[nodiscard]] double TimeFloor(size_t rows, size_t n, Clock clock);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_SOLVER_BASELINES_H_
