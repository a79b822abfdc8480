#include "attention/fast_form.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/cpu/fast_rows.h"

namespace expunge::attention {
namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;

// About the mean of `count` rows of `columns` numbers, in float: the same for every T.
SecretArray<double> CentreOf(absl::Span<const double> rows, size_t count, size_t columns) {
  SecretArray<double> centre(columns, 0.0);
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < columns; ++k) {
      centre[k] += rows[i * columns + k] / static_cast<double>(count);
    }
  }
  constexpr double kLargest = std::numeric_limits<float>::max();
  for (double& c : centre) c = static_cast<double>(static_cast<float>(std::clamp(c, -kLargest, kLargest)));
  return centre;
}

double LargestOf(const SecretArray<double>& x) {
  double largest = 0;
  for (const double v : x) largest = std::max(largest, std::fabs(v));
  return largest;
}

// Builds one form; each step returns whether T can hold what it made.
template <typename T>
class FormMaker {
 public:
  explicit FormMaker(const FormSource& source)
      : source_(source),
        m_(source.weights.size()),
        d_(source.key_dimension),
        dv_(source.value_dimension),
        owned_(std::make_unique<OwnedFastForm<T>>()) {}

  std::unique_ptr<const OwnedFastForm<T>> Make() {
    if (!PackKeys() || !PackValues()) return nullptr;
    FastForm<T>& form = owned_->form;
    form.support.packed = {m_,
                           RoundUpToPanel(m_) / kPanel,
                           d_,
                           dv_,
                           RoundUpToPanel(dv_),
                           owned_->key_panels.data(),
                           owned_->bias.data(),
                           owned_->values.data()};
    form.support.key_centre = owned_->key_centre.data();
    form.support.value_centre = owned_->value_centre.data();
    form.support.gamma_log2e = source_.gamma * kLog2E;
    form.support.offset = 1 - source_.rho;
    const ReadoutShape shape{m_, d_, dv_};
    form.error_bound = FastErrorBound(cpu::FastArithmeticOf<T>(shape), norms_, source_.bounds, shape);
    return std::move(owned_);
  }

 private:
  static bool Holds(double x) { return std::fabs(x) <= static_cast<double>(std::numeric_limits<T>::max()); }
  // With room for differences from the centre, and for a readout that is rounded beyond all values.
  static bool HoldsWell(double x) { return Holds(4 * x); }

  // y_i = s (x_i - c) and b_i = log2(a_i) - gamma log2(e) |x_i - c|^2.
  bool PackKeys() {
    const SecretArray<double> centre = CentreOf(source_.keys, m_, d_);
    owned_->key_centre.assign(RoundUpToPanel(d_), T{0});
    std::transform(centre.begin(), centre.end(), owned_->key_centre.begin(),
                   [](double c) { return static_cast<T>(c); });
    owned_->key_panels.assign(RoundUpToPanel(m_) * d_, T{0});
    owned_->bias.assign(RoundUpToPanel(m_), -std::numeric_limits<T>::infinity());
    const double scale = 2 * (source_.gamma * kLog2E);
    SecretArray<double> row(d_);
    for (size_t i = 0; i < m_; ++i) {
      double squares = 0;
      for (size_t k = 0; k < d_; ++k) {
        const double difference = source_.keys[i * d_ + k] - centre[k];
        squares += difference * difference;
        row[k] = scale * difference;
        owned_->key_panels[((i / kPanel) * d_ + k) * kPanel + i % kPanel] = static_cast<T>(row[k]);
      }
      const double bias = std::log2(source_.weights[i]) - (source_.gamma * kLog2E) * squares;
      // Each by itself: infinity times 0 is NaN, which no maximum keeps.
      if (!Holds(bias) || !std::all_of(row.begin(), row.end(), Holds)) return false;
      owned_->bias[i] = static_cast<T>(bias);
      norms_.bias = std::max(norms_.bias, std::fabs(bias));
      norms_.key = std::max(norms_.key, NormUpper(absl::MakeSpan(row)));
    }
    // For the roundings of the norms' own numbers.
    norms_.bias *= 1 + (static_cast<double>(d_) + 16) * 0x1p-52;
    norms_.key *= 1 + 0x1p-40;
    return true;
  }

  // u_i = (v_i - e) / t.
  bool PackValues() {
    if (!std::all_of(source_.values.begin(), source_.values.end(), HoldsWell)) return false;
    const size_t stride = RoundUpToPanel(dv_);
    const SecretArray<double> centre = CentreOf(source_.values, m_, dv_);
    owned_->value_centre.assign(stride, T{0});
    std::transform(centre.begin(), centre.end(), owned_->value_centre.begin(),
                   [](double e) { return static_cast<T>(e); });
    SecretArray<double> row(dv_);
    double largest = 0;
    for (size_t i = 0; i < m_; ++i) {
      for (size_t k = 0; k < dv_; ++k) row[k] = source_.values[i * dv_ + k] - centre[k];
      largest = std::max(largest, LargestOf(row));
      norms_.value = std::max(norms_.value, NormUpper(absl::MakeSpan(row)) * (1 + 0x1p-40));
    }
    const double scale = largest == 0 ? 1.0 : std::ldexp(1.0, std::ilogb(largest));
    if (scale < static_cast<double>(std::numeric_limits<T>::min())) return false;
    owned_->form.support.value_scale = static_cast<T>(scale);
    owned_->values.assign(m_ * stride, T{0});
    for (size_t i = 0; i < m_; ++i) {
      for (size_t k = 0; k < dv_; ++k) {
        owned_->values[i * stride + k] = static_cast<T>((source_.values[i * dv_ + k] - centre[k]) / scale);
      }
    }
    return true;
  }

  const FormSource& source_;
  const size_t m_;
  const size_t d_;
  const size_t dv_;
  std::unique_ptr<OwnedFastForm<T>> owned_;
  FastNorms norms_;
};

}  // namespace

double NormUpper(absl::Span<double> x) {
  double largest = 0;
  for (const double v : x) largest = std::max(largest, std::fabs(v));
  if (largest == 0) return 0;
  double squares = 0;
  for (double& v : x) {
    v /= largest;
    squares += v * v;
  }
  // Covers the rounding of the sum and of the root.
  constexpr double kOutward = 1 + 0x1p-20;
  return largest * std::sqrt(squares) * kOutward + std::numeric_limits<double>::denorm_min();
}

template <typename T>
std::unique_ptr<const OwnedFastForm<T>> MakeFastForm(const FormSource& source) {
  return FormMaker<T>(source).Make();
}

template std::unique_ptr<const OwnedFastForm<float>> MakeFastForm<float>(const FormSource&);
template std::unique_ptr<const OwnedFastForm<double>> MakeFastForm<double>(const FormSource&);

}  // namespace expunge::attention
