// The certified readout in plain scalar loops, as docs/math/readout.md says, and a readout at 600 bits.
#ifndef EXPUNGE_TESTS_SUPPORT_READOUT_ORACLE_H_
#define EXPUNGE_TESTS_SUPPORT_READOUT_ORACLE_H_

#include <cstddef>
#include <vector>

namespace expunge::testing {

// Tokens that carry weight, one element or row each.
struct ReadoutProblem {
  size_t d = 0;
  size_t dv = 0;
  double gamma = 0;
  double rho = 0;
  std::vector<double> keys;         // m x d
  std::vector<double> values;       // m x dv
  std::vector<double> weights;      // m, > 0
  std::vector<double> log_weights;  // m, the doubles nearest to their logarithms
};

struct OracleReadout {
  std::vector<double> output;
  std::vector<double> weights;  // of the softmax
  double decision_value = 0;
  double logit_scale = 0;
};

// Every bit of a certified readout.
[[nodiscard]] OracleReadout ReadPlainly(const ReadoutProblem& problem, const double* query);

// |output - o(q)|_2, o being the readout of the weights as they are, from 600 bits.
[[nodiscard]] double DistanceFromExactReadout(const ReadoutProblem& problem, const double* query,
                                              const std::vector<double>& output);

// exp(-t), t >= 0, in the operations that certified readouts use.
[[nodiscard]] double PlainExpOfNegative(double t);

}  // namespace expunge::testing

#endif  // EXPUNGE_TESTS_SUPPORT_READOUT_ORACLE_H_
