#include "attention/error_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace expunge::attention {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRoundoff = 0x1p-53;
// Covers the rounding of the bounds' own evaluation.
constexpr double kOutward = 1 + 0x1p-20;
constexpr double kLn2Upper = 0.6931471805599454;
// Relative error of what is made in doubles before it is stored: centred keys and values.
constexpr double kPreparation = 0x1p-49;
// Beyond these a product, a sum or a square could overflow in float.
constexpr double kLargestNorm = 0x1p60;
constexpr double kLargestExponent = 0x1p100;

// Higham's gamma_n: |computed sum of products - exact| <= gamma_n sum |terms|.
double Accumulated(double n, double u) { return n * u / (1 - n * u); }

}  // namespace

double CertifiedErrorBound(const ValueBounds& values, const ReadoutShape& shape, double gamma,
                           double logit_scale) {
  const double eta = values.eta;
  if (!(eta < 0.01)) return kInfinity;
  const auto m = static_cast<double>(shape.tokens);
  const auto d = static_cast<double>(shape.key_dimension);
  // Squares below the normal range have an absolute error.
  const double logit_error = kRoundoff * ((d + 8) * logit_scale + 800) + d * (0x1p-1073 * gamma);
  double relative = 1;  // both readouts are in the convex hull of the values
  if (logit_error < 0.01) {
    const double weight_error = 1.02 * (logit_error + 0x1p-49);
    relative = std::min(1.0, 2 * eta / (1 - eta) + 2 * weight_error / (1 - weight_error) + m * 1e-300);
  }
  const double underflow = (m + 8) * static_cast<double>(shape.value_dimension) * 0x1p-1074;
  return (relative * values.spread + (2 * m + 4) * kRoundoff * values.norm) * kOutward + underflow;
}

FastErrorBound::FastErrorBound(const FastArithmetic& arithmetic, const FastNorms& norms,
                               const ValueBounds& values, const ReadoutShape& shape)
    : spread_(values.spread) {
  const double u = arithmetic.arithmetic;
  const double key_terms = arithmetic.key_depth + 2;
  const double value_terms = arithmetic.value_depth + arithmetic.rescalings + 2;
  const bool in_range = values.eta < 0.01 && norms.key <= kLargestNorm && norms.bias <= kLargestExponent &&
                        key_terms * u < 0.01 && value_terms * u < 0.1 && arithmetic.storage < 0.01;
  norm_factor_ = in_range ? 1 + 1.1 * (arithmetic.storage + key_terms * u) : kInfinity;
  if (!in_range) return;
  const auto m = static_cast<double>(shape.tokens);
  const double root_d = std::sqrt(static_cast<double>(shape.key_dimension));
  const double root_dv = std::sqrt(static_cast<double>(shape.value_dimension));
  norm_underflow_ = root_d * std::sqrt(2 * arithmetic.underflow);

  // The exponent l_i: storage of z and y, then the sum (E1); then its way to p_i (E2).
  const double z = arithmetic.storage + u + arithmetic.storage * u;
  const double y = arithmetic.storage + kPreparation;
  const double bias = u + (static_cast<double>(shape.key_dimension) + 16) * kRoundoff;
  const double sum = Accumulated(key_terms, u);
  const double underflow = arithmetic.underflow * root_d;
  const double rescalings = arithmetic.rescalings + 1;
  slope_ = kLn2Upper * (norms.key * (z + y + z * y + sum * (1 + z) * (1 + y)) + 2 * underflow);
  constant_ = kLn2Upper * (norms.bias * (bias + sum * (1 + bias)) + 2 * underflow * (norms.key + 1) +
                           2 * root_d * underflow + u * arithmetic.range) +
              1.01 * (rescalings * arithmetic.exp2 + arithmetic.weight_storage);
  relative_ = 2 * values.eta / (1 - values.eta) + 4 * m * std::exp2(-arithmetic.range);

  // The values: (E3).
  const double stored = arithmetic.storage + kPreparation;
  const double g = Accumulated(value_terms, u);
  const double quotient = (2 * g + 2 * u * (1 + g)) / (1 - g);  // (1 + g)(1 + 2u)/(1 - g) - 1
  sums_ = norms.value * (stored + quotient * (1 + stored) + 1.01 * arithmetic.weight_storage +
                         4 * (m + 8) * root_dv * arithmetic.underflow) +
          1.1 * u * values.norm + 2 * root_dv * arithmetic.underflow;
}

double FastErrorBound::At(double query_norm) const {
  const double norm = norm_factor_ * query_norm + norm_underflow_;
  if (!(norm <= kLargestNorm)) return kInfinity;
  const double tau = (constant_ + slope_ * norm) * kOutward;
  double relative = 1;  // both readouts are in the convex hull of the values
  if (tau < 0.25) {
    const double e = tau * (1 + tau) * kOutward;  // >= exp(tau) - 1; without a call of it for each query
    relative = std::min(1.0, relative_ + 2 * e / (1 - e));
  }
  return (relative * spread_ + sums_) * kOutward;
}

}  // namespace expunge::attention
