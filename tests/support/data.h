// Seeded token lists of the kinds that break solvers.
#ifndef EXPUNGE_TESTS_SUPPORT_DATA_H_
#define EXPUNGE_TESTS_SUPPORT_DATA_H_

#include <cstdint>
#include <string>

#include "solver/memory_state.h"

namespace expunge::testing {

enum class DataKind {
  kGaussian,
  kClustered,       // 4 centres 2 N(0, 1), jitter 0.02
  kDuplicates,      // the 4 centres themselves, again and again
  kNearDuplicates,  // the 4 centres, jitter 1e-8
  kLattice,         // integers 0..2 in every coordinate: many equal distances
  kSymmetric,       // pairs x, -x on the axes, and the origin
  kOffset,          // gaussian, + 1000 in every coordinate
  kFar,             // one token far from all others: kernel values 0 and subnormal
};
inline constexpr DataKind kAllDataKinds[] = {
    DataKind::kGaussian, DataKind::kClustered, DataKind::kDuplicates, DataKind::kNearDuplicates,
    DataKind::kLattice,  DataKind::kSymmetric, DataKind::kOffset,     DataKind::kFar};

[[nodiscard]] std::string Name(DataKind kind);

// n tokens with ids t000, t001, ... and values of `value_dimension` numbers. The numbers come from our own
// generator, so that every standard library gives the same.
[[nodiscard]] solver::TokenList MakeTokens(DataKind kind, size_t n, size_t key_dimension,
                                           size_t value_dimension, uint64_t seed);

// A configuration for such tokens.
[[nodiscard]] solver::Config MakeConfig(size_t key_dimension, size_t value_dimension, solver::BoxBound box,
                                        double gamma = 0.5, double ridge = solver::kDefaultRidge);

// The box bounds that every test tries: C = 1, 1/2, 1/4, 0.1, 0.2 and min_support = 1, 2, 4, 8.
inline constexpr solver::BoxBound kBoxes[] = {{0, 1.0}, {0, 0.5}, {0, 0.25}, {0, 0.1}, {0, 0.2},
                                              {1, 0},   {2, 0},   {4, 0},    {8, 0}};

}  // namespace expunge::testing

#endif  // EXPUNGE_TESTS_SUPPORT_DATA_H_
