// One case of the audit: a memory under change against the reference solver's state of what it retains.
#ifndef EXPUNGE_BENCH_EXACTNESS_TRIAL_H_
#define EXPUNGE_BENCH_EXACTNESS_TRIAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/exactness/regimes.h"

namespace expunge::bench {

// The first thing that went wrong, in words.
struct Problem {
  uint64_t number = 0;  // of the case
  std::string text;
};

// What one case, or many of them together, found. A trial is one history of one memory: a build with
// deletions, one order of insertion, or one stream.
struct Findings {
  uint64_t trials = 0;
  uint64_t completed = 0;  // trials in which every operation succeeded
  uint64_t partition_equal =
      0;                    // completed trials in which every class was that of the reference, every time
  uint64_t bits_equal = 0;  // ... and every fingerprint: tokens, classes, weights, rho
  uint64_t higher_precision = 0;  // trials in which some question needed balls or rationals
  uint64_t ties = 0;              // trials in which some answer was an exact equality
  uint64_t fallbacks = 0;         // calls of the reference solver by the memory
  uint64_t comparisons = 0;       // states compared
  double worst_deviation = 0;     // of a weight, or in norm of a readout; 0 where the bits are equal
  std::vector<double> decays;     // for each deletion: deviation of readouts under coefficient decay
  std::optional<Problem> problem;

  // Adds those of other cases: the result does not depend on the order.
  void Merge(Findings other);
};

// Runs case `number` of a regime. Threads: any number of calls at once.
[[nodiscard]] Findings RunCase(const Regime& regime, uint64_t number, uint64_t seed,
                               const std::vector<Stay>& stays);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_EXACTNESS_TRIAL_H_
