#include "attention/readout.h"

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "solver/exact_numbers.h"
#include "solver/kernel.h"

namespace expunge::attention {
namespace {

constexpr double kRoundoff = 0x1p-53;
// Covers the rounding of the bounds' own evaluation.
constexpr double kOutward = 1 + 0x1p-20;

// The double nearest to log(x): MPFR's result does not depend on the machine. REQUIRES: x > 0.
double CorrectlyRoundedLog(double x) {
  solver::FreeCachesAtThreadExit();
  mpfr_t value;
  mpfr_init2(value, 53);
  mpfr_set_d(value, x, MPFR_RNDN);
  mpfr_log(value, value, MPFR_RNDN);
  const double result = mpfr_get_d(value, MPFR_RNDN);
  mpfr_clear(value);
  return result;
}

// An upper bound of |x|_2, without squares that leave the range of a double. Scaled in place.
double NormUpper(std::vector<double>* x) {
  double largest = 0;
  for (const double v : *x) largest = std::max(largest, std::fabs(v));
  if (largest == 0) return 0;
  double squares = 0;
  for (double& v : *x) {
    v /= largest;
    squares += v * v;
  }
  return largest * std::sqrt(squares) * kOutward + std::numeric_limits<double>::denorm_min();
}

std::vector<WeightedToken> SupportOf(const solver::MemoryState& state) {
  std::vector<WeightedToken> support;
  for (uint32_t i = 0; i < state.tokens.size(); ++i) {
    if (state.solution.classes[i] == solver::TokenClass::kReserve) continue;
    support.push_back({state.tokens[i].get(), i, state.solution.weights[i]});
  }
  return support;
}

}  // namespace

SupportSet::SupportSet(const solver::MemoryState& state)
    : SupportSet(state.config, SupportOf(state), state.solution.rho, state.solution.proof.eta) {}

SupportSet::SupportSet(const solver::Config& config, absl::Span<const WeightedToken> support, double rho,
                       double eta)
    : key_dimension_(config.key_dimension),
      value_dimension_(config.value_dimension),
      gamma_(config.gamma),
      rho_(rho),
      eta_(eta) {
  keys_.reserve(support.size() * key_dimension_);
  values_.reserve(support.size() * value_dimension_);
  std::vector<double> low(value_dimension_, std::numeric_limits<double>::infinity());
  std::vector<double> high(value_dimension_, -std::numeric_limits<double>::infinity());
  // The tokens of E have one weight, the largest of all: one logarithm is enough for them.
  double largest = 0;
  double log_largest = 0;
  for (const auto& [token, index, weight] : support) {
    // A margin weight below the smallest double has no logarithm; eta is infinite then, and says so.
    if (weight == 0) continue;
    const double log_weight = weight == largest ? log_largest : CorrectlyRoundedLog(weight);
    if (weight > largest) {
      largest = weight;
      log_largest = log_weight;
    }
    log_weights_.push_back(log_weight);
    tokens_.push_back(index);
    keys_.insert(keys_.end(), token->key.begin(), token->key.end());
    values_.insert(values_.end(), token->value.begin(), token->value.end());
    weights_.push_back(weight);
    for (uint32_t k = 0; k < value_dimension_; ++k) {
      low[k] = std::min(low[k], token->value[k]);
      high[k] = std::max(high[k], token->value[k]);
    }
  }
  std::vector<double> spread(value_dimension_, 0.0);
  std::vector<double> magnitude(value_dimension_, 0.0);
  for (uint32_t k = 0; k < value_dimension_ && !tokens_.empty(); ++k) {
    spread[k] = high[k] - low[k];
    magnitude[k] = std::max(std::fabs(low[k]), std::fabs(high[k]));
  }
  value_spread_upper_ = NormUpper(&spread);
  value_norm_upper_ = NormUpper(&magnitude);
}

// docs/math/readout.md. `logit_scale` >= |log a_i| + |logit_i| for every term that is not 0.
double SupportSet::ErrorBound(double logit_scale) const {
  if (!(eta_ < 0.01)) return std::numeric_limits<double>::infinity();
  const double m = static_cast<double>(tokens_.size());
  const double d = static_cast<double>(key_dimension_);
  // Squares below the normal range have an absolute error.
  const double logit_error = kRoundoff * ((d + 8) * logit_scale + 800) + d * (0x1p-1073 * gamma_);
  double relative = 1;  // both readouts are in the convex hull of the values
  if (logit_error < 0.01) {
    const double weight_error = 1.02 * (logit_error + 0x1p-49);
    relative = std::min(1.0, 2 * eta_ / (1 - eta_) + 2 * weight_error / (1 - weight_error) + m * 1e-300);
  }
  const double underflow = (m + 8) * static_cast<double>(value_dimension_) * 0x1p-1074;
  return (relative * value_spread_upper_ + (2 * m + 4) * kRoundoff * value_norm_upper_) * kOutward +
         underflow;
}

ReadoutResult SupportSet::Read(absl::Span<const double> query, bool with_contributions) const {
  const size_t m = tokens_.size();
  std::vector<double> logits(m);
  double largest = -std::numeric_limits<double>::infinity();
  double logit_scale = 0;
  ReadoutResult result;
  double kernel_sum = 0;
  for (size_t i = 0; i < m; ++i) {
    const double* key = &keys_[i * key_dimension_];
    double distance = 0;
    for (uint32_t k = 0; k < key_dimension_; ++k) {
      const double difference = query[k] - key[k];
      distance += difference * difference;
    }
    // Beyond 1e300 every term of the softmax but the nearest would be 0 in any case; keep the logits finite.
    const double t = std::min(gamma_ * distance, 1e300);
    logits[i] = log_weights_[i] - t;
    largest = std::max(largest, logits[i]);
    kernel_sum += weights_[i] * solver::ExpOfNegative(t);
  }
  result.decision_value = 2 * kernel_sum - (1 - rho_);

  // (R), in the order of the tokens.
  result.output.assign(value_dimension_, 0.0);
  double total = 0;
  for (size_t i = 0; i < m; ++i) {
    const double logit = logits[i];
    const double below = largest - logit;
    logits[i] = solver::ExpOfNegative(below);
    total += logits[i];
    const double* value = &values_[i * value_dimension_];
    for (uint32_t k = 0; k < value_dimension_; ++k) result.output[k] += logits[i] * value[k];
    // Terms below exp(-700) are 0 here and less than that in truth; they need no accurate logit.
    if (below < 700) logit_scale = std::max(logit_scale, std::fabs(log_weights_[i]) + std::fabs(logit));
  }
  for (double& x : result.output) x /= total;
  result.error_bound = ErrorBound(logit_scale);

  if (with_contributions) {
    for (size_t i = 0; i < m; ++i) result.contributions.push_back({tokens_[i], logits[i] / total});
    std::stable_sort(result.contributions.begin(), result.contributions.end(),
                     [](const Contribution& a, const Contribution& b) { return a.weight > b.weight; });
  }
  return result;
}

}  // namespace expunge::attention
