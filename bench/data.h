// Inputs of the benchmarks: the same for the same arguments.
#ifndef EXPUNGE_BENCH_DATA_H_
#define EXPUNGE_BENCH_DATA_H_

#include <cstdint>
#include <vector>

#include "solver/memory_state.h"

namespace expunge::bench {

// How keys are distributed. kGaussian: each coordinate standard normal, so that far pairs are all about
// equally far and most tokens matter. kClustered: 8 centres, standard normal, with a spread of 0.2 around
// them, and each hundredth token an outlier, twice a standard normal.
enum class Shape : int64_t { kGaussian = 0, kClustered = 1 };

// gamma = 1/d, ridge 1e-6, C = 2/(2 min_support - 1), values of `value_dimension` entries.
[[nodiscard]] solver::Config MakeConfig(uint32_t key_dimension, uint32_t value_dimension,
                                        uint32_t min_support);

// n tokens with keys of this shape and standard normal values, ids ascending. The first m of n tokens are
// those of a call for m.
[[nodiscard]] solver::TokenList MakeTokens(const solver::Config& config, Shape shape, int64_t n);

// `count` vectors of `dimension` standard normal entries, one after the other.
[[nodiscard]] std::vector<double> MakeVectors(int64_t count, uint32_t dimension);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_DATA_H_
