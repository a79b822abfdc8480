#include "attention/gradient.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "solver/double_double.h"
#include "solver/kernel.h"

namespace expunge::attention {
namespace {

using solver::DoubleDouble;

constexpr double kLn2 = 0x1.62e42fefa39efp-1;

// |q - x|^2 - |q - reference|^2 = sum over k of (x - reference)(x + reference - 2q), the factors exact.
double DistanceDifference(const double* q, const double* x, const double* reference, size_t d) {
  DoubleDouble sum;
  for (size_t k = 0; k < d; ++k) {
    const DoubleDouble difference = solver::TwoSum(x[k], -reference[k]);
    const DoubleDouble middle = solver::TwoSum(x[k], reference[k]) + (-2 * q[k]);
    sum = sum + difference * middle;
  }
  return sum.hi;
}

// The tokens of S and E, packed, and the gradients that are summed over the batch.
class Backward {
 public:
  explicit Backward(const solver::ExactMemory& memory);

  // Adds the terms of one query that hold the weights fixed, and its part of dL/da_S.
  void AddQuery(const double* query, const double* upstream, double* query_gradient);

  // Adds the terms through the weights.
  void AddWeights(const solver::ExactMemory& memory);

  // Whether everything summed so far is finite.
  [[nodiscard]] bool Finite(const ReadoutGradient& gradient) const;

  std::vector<double>& key_gradient() { return key_gradient_; }
  std::vector<double>& value_gradient() { return value_gradient_; }

 private:
  [[nodiscard]] const double* key(size_t i) const { return &keys_[i * d_]; }
  [[nodiscard]] const double* value(size_t i) const { return &values_[i * dv_]; }

  [[nodiscard]] size_t RoughlyHeaviest(const double* query) const;
  size_t Compare(const double* query);
  void Normalize();

  size_t d_;
  size_t dv_;
  double gamma_;
  size_t m_ = 0;  // |S+E|
  std::vector<double> keys_;
  std::vector<double> values_;
  std::vector<double> weights_;
  std::vector<double> rough_logs_;  // of the weights, within ln 2
  std::vector<uint32_t> margin_;    // S
  std::vector<double> key_gradient_;
  std::vector<double> value_gradient_;
  std::vector<double> weight_gradient_;  // dL/da, in the order of S
  // Of one query: gamma (|q - x_i|^2 - |q - x_r|^2), r the reference; k(q, x_i) / sum_j a_j k(q, x_j), which
  // is p_i / a_i; p_i; s_i.
  std::vector<double> exponents_;
  std::vector<double> ratios_;
  std::vector<double> softmax_;
  std::vector<double> scores_;
};

Backward::Backward(const solver::ExactMemory& memory)
    : d_(memory.config().key_dimension), dv_(memory.config().value_dimension), gamma_(memory.config().gamma) {
  for (const solver::SupportEntry& entry : memory.Support()) {
    if (entry.token_class == solver::TokenClass::kMargin) margin_.push_back(static_cast<uint32_t>(m_));
    keys_.insert(keys_.end(), entry.token->key.begin(), entry.token->key.end());
    values_.insert(values_.end(), entry.token->value.begin(), entry.token->value.end());
    weights_.push_back(entry.weight);
    int exponent = 0;
    std::frexp(entry.weight, &exponent);
    // A weight below the smallest double is far below all others.
    rough_logs_.push_back(entry.weight > 0 ? exponent * kLn2 : -1e4);
    ++m_;
  }
  key_gradient_.assign(m_ * d_, 0.0);
  value_gradient_.assign(m_ * dv_, 0.0);
  weight_gradient_.assign(margin_.size(), 0.0);
  exponents_.resize(m_);
  ratios_.resize(m_);
  softmax_.resize(m_);
  scores_.resize(m_);
}

// The token with the largest logit, but for rounding.
size_t Backward::RoughlyHeaviest(const double* query) const {
  size_t best = 0;
  double largest = 0;
  for (size_t i = 0; i < m_; ++i) {
    double distance = 0;
    for (size_t k = 0; k < d_; ++k) {
      const double difference = query[k] - key(i)[k];
      distance += difference * difference;
    }
    const double logit = rough_logs_[i] - gamma_ * distance;
    if (i > 0 && !(logit > largest)) continue;
    best = i;
    largest = logit;
  }
  return best;
}

// Fills exponents_ and returns the reference: a token whose logit is the largest, or nearly so. Far from the
// data the first choice can be wrong, as squared distances differ only in bits that they do not have.
size_t Backward::Compare(const double* query) {
  size_t reference = RoughlyHeaviest(query);
  for (size_t round = 0; round <= m_; ++round) {
    size_t best = reference;
    double largest = rough_logs_[reference] + 4 * kLn2;  // beyond what rough logarithms can explain
    for (size_t i = 0; i < m_; ++i) {
      exponents_[i] = i == reference ? 0.0 : gamma_ * DistanceDifference(query, key(i), key(reference), d_);
      const double logit = rough_logs_[i] - exponents_[i];
      if (!(logit > largest)) continue;
      best = i;
      largest = logit;
    }
    if (best == reference) break;
    reference = best;
  }
  return reference;
}

// exponents_ to ratios_ and softmax_.
void Backward::Normalize() {
  double total = 0;
  for (size_t i = 0; i < m_; ++i) {
    const double t = exponents_[i];
    ratios_[i] = t >= 0 ? solver::ExpOfNegative(t) : 1 / solver::ExpOfNegative(-t);
    softmax_[i] = weights_[i] > 0 ? weights_[i] * ratios_[i] : 0.0;
    total += softmax_[i];
  }
  for (size_t i = 0; i < m_; ++i) {
    ratios_[i] /= total;
    softmax_[i] /= total;
  }
}

void Backward::AddQuery(const double* query, const double* upstream, double* query_gradient) {
  const size_t reference = Compare(query);
  Normalize();
  // s_i = <u, v_i - v_r> - sum_j p_j <u, v_j - v_r>: small where the softmax is nearly that of r alone.
  double mean = 0;
  for (size_t i = 0; i < m_; ++i) {
    double score = 0;
    for (size_t k = 0; k < dv_; ++k) score += upstream[k] * (value(i)[k] - value(reference)[k]);
    scores_[i] = score;
    mean += softmax_[i] * score;
  }
  for (size_t i = 0; i < m_; ++i) {
    scores_[i] -= mean;
    for (size_t k = 0; k < dv_; ++k) value_gradient_[i * dv_ + k] += softmax_[i] * upstream[k];
    // dL/dlogit_i = p_i s_i, the logit containing -gamma |q - x_i|^2. These sum to 0, so that any point may
    // be taken off the x_i: near x_r, where the weight is, nothing is lost.
    const double pull = 2 * gamma_ * softmax_[i] * scores_[i];
    for (size_t k = 0; k < d_; ++k) {
      key_gradient_[i * d_ + k] += pull * (query[k] - key(i)[k]);
      query_gradient[k] += pull * (key(i)[k] - key(reference)[k]);
    }
  }
  for (size_t s = 0; s < margin_.size(); ++s) {
    weight_gradient_[s] += ratios_[margin_[s]] * scores_[margin_[s]];
  }
}

void Backward::AddWeights(const solver::ExactMemory& memory) {
  if (margin_.empty()) return;  // every weight is C_n
  std::vector<double> z(margin_.size());
  double zeta = 0;
  memory.SolveBordered(weight_gradient_, 0.0, absl::MakeSpan(z), &zeta);
  std::vector<double> columns(m_ * d_);
  for (size_t i = 0; i < m_; ++i) {
    for (size_t k = 0; k < d_; ++k) columns[k * m_ + i] = key(i)[k];
  }
  // dL = -sum over i in S, j in S and E of z_i a_j dK_ij, and dK_ij = -2 gamma K_ij <x_i - x_j, dx_i - dx_j>.
  std::vector<double> row(m_);
  for (size_t s = 0; s < margin_.size(); ++s) {
    const size_t i = margin_[s];
    solver::ApproxKernelRow(key(i), columns.data(), d_, m_, m_, gamma_, row.data());
    for (size_t j = 0; j < m_; ++j) {
      const double pull = 2 * gamma_ * z[s] * weights_[j] * row[j];
      for (size_t k = 0; k < d_; ++k) {
        const double step = pull * (key(i)[k] - key(j)[k]);
        key_gradient_[i * d_ + k] += step;
        key_gradient_[j * d_ + k] -= step;
      }
    }
  }
}

bool AllFinite(absl::Span<const double> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

bool Backward::Finite(const ReadoutGradient& gradient) const {
  return AllFinite(gradient.queries) && AllFinite(key_gradient_) && AllFinite(value_gradient_) &&
         AllFinite(weight_gradient_);
}

absl::Status CheckArguments(const solver::Config& config, absl::Span<const double> queries,
                            absl::Span<const double> upstream) {
  const size_t d = config.key_dimension;
  const size_t dv = config.value_dimension;
  if (queries.size() % d != 0) {
    return MakeError(
        Reason::kDimensionMismatch, "queries",
        absl::StrCat("queries has ", queries.size(), " numbers, no multiple of the key dimension ", d));
  }
  const size_t count = queries.size() / d;
  if (upstream.size() != count * dv) {
    return MakeError(
        Reason::kDimensionMismatch, "upstream",
        absl::StrCat("upstream has ", upstream.size(), " numbers; ", count, " readouts have ", count * dv));
  }
  for (size_t q = 0; q < count; ++q) {
    std::vector<double> query(queries.begin() + static_cast<ptrdiff_t>(q * d),
                              queries.begin() + static_cast<ptrdiff_t>((q + 1) * d));
    const absl::Status status = solver::NormalizeKey(config, absl::MakeSpan(query));
    if (!status.ok()) {
      return MakeError(*GetReason(status), absl::StrCat("queries[", q, "]"), status.message());
    }
    if (AllFinite(upstream.subspan(q * dv, dv))) continue;
    return MakeError(Reason::kNotFinite, absl::StrCat("upstream[", q, "]"),
                     "the gradient of a readout has a NaN or an infinity");
  }
  return absl::OkStatus();
}

absl::Status OutOfDoubles() {
  return MakeError(Reason::kOutOfRange, "upstream", "a derivative exceeds the range of doubles");
}

}  // namespace

absl::StatusOr<ReadoutGradient> DifferentiateReadouts(const solver::ExactMemory& memory,
                                                      absl::Span<const double> queries,
                                                      absl::Span<const double> upstream) {
  EXPUNGE_RETURN_IF_ERROR(CheckArguments(memory.config(), queries, upstream));
  if (memory.size() == 0) {
    return MakeError(Reason::kMemoryEmpty, "", "a memory without tokens has no readout");
  }
  const size_t d = memory.config().key_dimension;
  const size_t dv = memory.config().value_dimension;
  ReadoutGradient gradient;
  gradient.queries.assign(queries.size(), 0.0);
  Backward backward(memory);
  for (size_t q = 0; q * d < queries.size(); ++q) {
    backward.AddQuery(&queries[q * d], &upstream[q * dv], &gradient.queries[q * d]);
  }
  if (!backward.Finite(gradient)) return OutOfDoubles();
  backward.AddWeights(memory);
  if (!backward.Finite(gradient)) return OutOfDoubles();
  gradient.keys = std::move(backward.key_gradient());
  gradient.values = std::move(backward.value_gradient());
  return gradient;
}

}  // namespace expunge::attention
