// An independent oracle for the gradient of readouts: central differences at 500 bits.
//
// For a fixed partition the weights are the solution of the bordered system of docs/math/canonical.md, (B).
// Here it is solved by elimination over the kernel as a real number, not rounded to doubles as in a memory;
// then
//     L = sum over q of <upstream_q, o(q)>
// is evaluated at x - h and x + h for each coordinate x in turn, h = 10^-40. The error of the difference is
// about h^2 times a third derivative: for all that occurs here, below 10^-50.
#ifndef EXPUNGE_TESTS_SUPPORT_GRADIENT_ORACLE_H_
#define EXPUNGE_TESTS_SUPPORT_GRADIENT_ORACLE_H_

#include <cstdint>
#include <vector>

#include "solver/memory_state.h"

namespace expunge::testing {

// What L depends on. Each point of `queries` has key_dimension numbers, each of `upstream` value_dimension.
struct ReadoutLoss {
  solver::Config config;
  uint64_t tokens = 0;                        // n of C_n, reserve tokens included
  std::vector<solver::SupportEntry> support;  // S and E; the stored weights are not used
  std::vector<std::vector<double>> queries;
  std::vector<std::vector<double>> upstream;
};

// Row-major, rows in the order of `queries` and `support`.
struct LossGradient {
  std::vector<double> weights;  // not a gradient: the weights that the partition implies
  std::vector<double> queries;
  std::vector<double> keys;
  std::vector<double> values;
};

// Cost: 2 d m solves of order |S| + 1 at 500 bits, m = |S+E|: about a second for m = 40, d = 3.
[[nodiscard]] LossGradient DifferentiateCentrally(const ReadoutLoss& loss);

}  // namespace expunge::testing

#endif  // EXPUNGE_TESTS_SUPPORT_GRADIENT_ORACLE_H_
