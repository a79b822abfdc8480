// Runs the cases of a regime on all cores.
#ifndef EXPUNGE_BENCH_EXACTNESS_RUNNER_H_
#define EXPUNGE_BENCH_EXACTNESS_RUNNER_H_

#include <cstdint>
#include <vector>

#include "bench/exactness/regimes.h"
#include "bench/exactness/trial.h"

namespace expunge::bench {

struct RunOptions {
  uint64_t seed = 0;
  size_t threads = 1;
  uint64_t first = 0;  // the first case
  uint64_t cases = 0;  // how many
};

// All findings, merged: the same for any number of threads. Shows progress on standard error if that is a
// terminal.
[[nodiscard]] Findings RunCases(const Regime& regime, const std::vector<Stay>& stays,
                                const RunOptions& options);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_EXACTNESS_RUNNER_H_
