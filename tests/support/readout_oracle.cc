#include "tests/support/readout_oracle.h"

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/real.h"

namespace expunge::testing {
namespace {

// -gamma |q - x|^2.
void Exponent(const ReadoutProblem& problem, const double* query, const double* key, Real* exponent) {
  Real difference;
  mpfr_set_zero(exponent->get(), 1);
  for (size_t k = 0; k < problem.d; ++k) {
    mpfr_set_d(difference.get(), query[k], MPFR_RNDN);
    mpfr_sub_d(difference.get(), difference.get(), key[k], MPFR_RNDN);
    mpfr_sqr(difference.get(), difference.get(), MPFR_RNDN);
    mpfr_sub(exponent->get(), exponent->get(), difference.get(), MPFR_RNDN);
  }
  mpfr_mul_d(exponent->get(), exponent->get(), problem.gamma, MPFR_RNDN);
}

}  // namespace

double PlainExpOfNegative(double t) {
  if (t > 700) return 0;
  const double k = std::nearbyint(t * 0x1.71547652b82fep+0);
  const double r = (k * 0x1.62e42fefa3800p-1 - t) + k * 0x1.ef35793c76730p-45;
  double factorial = 6227020800.0;  // 13!
  double p = 1 / factorial;
  for (int n = 13; n > 0; --n) {
    factorial /= n;
    p = p * r + 1 / factorial;
  }
  return std::ldexp(p, -static_cast<int>(k));
}

OracleReadout ReadPlainly(const ReadoutProblem& problem, const double* query) {
  const size_t m = problem.log_weights.size();
  std::vector<double> logits(m);
  double largest = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < m; ++i) {
    double distance = 0;
    for (size_t k = 0; k < problem.d; ++k) {
      const double difference = query[k] - problem.keys[i * problem.d + k];
      distance += difference * difference;
    }
    logits[i] = problem.log_weights[i] - std::min(problem.gamma * distance, 1e300);
    largest = std::max(largest, logits[i]);
  }
  OracleReadout readout;
  readout.output.assign(problem.dv, 0.0);
  double partial[16] = {};
  for (size_t i = 0; i < m; ++i) {
    const double p = PlainExpOfNegative(largest - logits[i]);
    partial[i % 16] += p;
    readout.weights.push_back(p);
    for (size_t k = 0; k < problem.dv; ++k) readout.output[k] += p * problem.values[i * problem.dv + k];
    if (largest - logits[i] < 700) {
      readout.logit_scale =
          std::max(readout.logit_scale, std::fabs(problem.log_weights[i]) + std::fabs(logits[i]));
    }
  }
  for (const size_t width : {8, 4, 2, 1}) {
    for (size_t j = 0; j < width; ++j) partial[j] += partial[j + width];
  }
  for (double& x : readout.output) x /= partial[0];
  for (double& p : readout.weights) p /= partial[0];
  readout.decision_value = 2 * PlainExpOfNegative(-largest) * partial[0] - (1 - problem.rho);
  return readout;
}

double DistanceFromExactReadout(const ReadoutProblem& problem, const double* query,
                                const std::vector<double>& output) {
  mpfr_set_emin(mpfr_get_emin_min());  // exp(-1e12) is nothing special
  std::vector<Real> sums(problem.dv);
  Real total;
  Real weight;
  Real product;
  for (size_t i = 0; i < problem.weights.size(); ++i) {
    Exponent(problem, query, &problem.keys[i * problem.d], &weight);
    mpfr_exp(weight.get(), weight.get(), MPFR_RNDN);
    mpfr_mul_d(weight.get(), weight.get(), problem.weights[i], MPFR_RNDN);
    mpfr_add(total.get(), total.get(), weight.get(), MPFR_RNDN);
    for (size_t k = 0; k < problem.dv; ++k) {
      mpfr_mul_d(product.get(), weight.get(), problem.values[i * problem.dv + k], MPFR_RNDN);
      mpfr_add(sums[k].get(), sums[k].get(), product.get(), MPFR_RNDN);
    }
  }
  double norm = 0;
  for (size_t k = 0; k < problem.dv; ++k) {
    mpfr_div(weight.get(), sums[k].get(), total.get(), MPFR_RNDN);
    mpfr_sub_d(weight.get(), weight.get(), output[k], MPFR_RNDN);
    norm = std::hypot(norm, mpfr_get_d(weight.get(), MPFR_RNDA));  // squares may underflow
  }
  return norm;
}

}  // namespace expunge::testing
