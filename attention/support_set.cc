#include "attention/support_set.h"

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/fast_form.h"
#include "base/secret.h"
#include "solver/exact_numbers.h"

namespace expunge::attention {
namespace {

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

std::vector<WeightedToken> SupportOf(const solver::MemoryState& state) {
  std::vector<WeightedToken> support;
  for (uint32_t i = 0; i < state.tokens.size(); ++i) {
    if (state.solution.classes[i] == solver::TokenClass::kReserve) continue;
    support.push_back({state.tokens[i].get(), i, state.solution.weights[i]});
  }
  return support;
}

// A form that is made when it is first asked for.
template <typename T>
struct LazyForm {
  std::once_flag once;
  std::unique_ptr<const OwnedFastForm<T>> form;
};

}  // namespace

struct SupportSet::Impl {
  Impl(const solver::Config& config, absl::Span<const WeightedToken> support, double rho, double eta);

  void PackLogarithms();
  void PackRow(const solver::Token& token, size_t i);
  void BoundValues(double eta);
  [[nodiscard]] const double* ValueRow(size_t i) const { return &value_rows[i * packed.value_stride]; }
  void CopyRows(double* keys, double* values) const;
  template <typename T>
  const FastForm<T>* Fast(LazyForm<T>* lazy) const;

  solver::Config config;
  double rho;
  std::vector<uint32_t> indices;
  SecretArray<double> weights;
  SecretArray<double> key_panels;
  SecretArray<double> log_weights;
  SecretArray<double> value_rows;
  PackedSupport<double> packed;
  ValueBounds bounds;
  mutable LazyForm<float> fast_float;
  mutable LazyForm<double> fast_double;
};

SupportSet::Impl::Impl(const solver::Config& configuration, absl::Span<const WeightedToken> support,
                       double state_rho, double eta)
    : config(configuration), rho(state_rho) {
  // A margin weight below the smallest double has no logarithm; eta is infinite then, and says so.
  size_t m = 0;
  for (const WeightedToken& entry : support) m += entry.weight != 0 ? 1 : 0;
  indices.reserve(m);
  weights.reserve(m);
  const size_t padded = RoundUpToPanel(m);
  const size_t stride = RoundUpToPanel(config.value_dimension);
  key_panels.assign(padded * config.key_dimension, 0.0);
  value_rows.assign(m * stride, 0.0);
  log_weights.assign(padded, -std::numeric_limits<double>::infinity());
  packed = {m,      padded / kPanel,   config.key_dimension, config.value_dimension,
            stride, key_panels.data(), log_weights.data(),   value_rows.data()};
  for (const auto& [token, index, weight] : support) {
    if (weight == 0) continue;
    PackRow(*token, weights.size());
    indices.push_back(index);
    weights.push_back(weight);
  }
  PackLogarithms();
  BoundValues(eta);
}

// The tokens of E have one weight, the largest of all: one logarithm is enough for them.
void SupportSet::Impl::PackLogarithms() {
  double largest = 0;
  double log_largest = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double weight = weights[i];
    log_weights[i] = weight == largest ? log_largest : CorrectlyRoundedLog(weight);
    if (weight > largest) {
      largest = weight;
      log_largest = log_weights[i];
    }
  }
}

void SupportSet::Impl::PackRow(const solver::Token& token, size_t i) {
  const size_t d = config.key_dimension;
  double* panel = &key_panels[(i / kPanel) * d * kPanel + i % kPanel];
  for (size_t k = 0; k < d; ++k) panel[k * kPanel] = token.key[k];
  std::copy_n(token.value.begin(), config.value_dimension, &value_rows[i * packed.value_stride]);
}

void SupportSet::Impl::BoundValues(double eta) {
  const size_t dv = config.value_dimension;
  SecretArray<double> spread(dv, 0.0);
  SecretArray<double> magnitude(dv, 0.0);
  for (size_t k = 0; k < dv && packed.tokens > 0; ++k) {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (size_t i = 0; i < packed.tokens; ++i) {
      low = std::min(low, ValueRow(i)[k]);
      high = std::max(high, ValueRow(i)[k]);
    }
    spread[k] = high - low;
    magnitude[k] = std::max(std::fabs(low), std::fabs(high));
  }
  bounds = {NormUpper(absl::MakeSpan(spread)), NormUpper(absl::MakeSpan(magnitude)), eta};
}

void SupportSet::Impl::CopyRows(double* keys, double* values) const {
  const size_t d = config.key_dimension;
  const size_t dv = config.value_dimension;
  for (size_t i = 0; i < packed.tokens; ++i) {
    const double* panel = &key_panels[(i / kPanel) * d * kPanel + i % kPanel];
    for (size_t k = 0; k < d; ++k) keys[i * d + k] = panel[k * kPanel];
    std::copy_n(ValueRow(i), dv, values + i * dv);
  }
}

template <typename T>
const FastForm<T>* SupportSet::Impl::Fast(LazyForm<T>* lazy) const {
  std::call_once(lazy->once, [&] {
    SecretArray<double> keys(packed.tokens * config.key_dimension);
    SecretArray<double> values(packed.tokens * config.value_dimension);
    CopyRows(keys.data(), values.data());
    lazy->form = MakeFastForm<T>(
        {config.key_dimension, config.value_dimension, config.gamma, rho, keys, values, weights, bounds});
  });
  return lazy->form == nullptr ? nullptr : &lazy->form->form;
}

SupportSet::SupportSet(const solver::MemoryState& state)
    : SupportSet(state.config, SupportOf(state), state.solution.rho, state.solution.proof.eta) {}

SupportSet::SupportSet(const solver::Config& config, absl::Span<const WeightedToken> support, double rho,
                       double eta)
    : impl_(std::make_unique<const Impl>(config, support, rho, eta)) {}

SupportSet::~SupportSet() = default;

bool SupportSet::empty() const { return impl_->packed.tokens == 0; }
size_t SupportSet::size() const { return impl_->packed.tokens; }
uint32_t SupportSet::key_dimension() const { return impl_->config.key_dimension; }
uint32_t SupportSet::value_dimension() const { return impl_->config.value_dimension; }
double SupportSet::gamma() const { return impl_->config.gamma; }
double SupportSet::rho() const { return impl_->rho; }
absl::Span<const uint32_t> SupportSet::indices() const { return impl_->indices; }
const ValueBounds& SupportSet::value_bounds() const { return impl_->bounds; }
const PackedSupport<double>& SupportSet::certified() const { return impl_->packed; }
void SupportSet::CopyRows(double* keys, double* values) const { impl_->CopyRows(keys, values); }

template <>
const FastForm<float>* SupportSet::fast() const {
  return impl_->Fast(&impl_->fast_float);
}
template <>
const FastForm<double>* SupportSet::fast() const {
  return impl_->Fast(&impl_->fast_double);
}

}  // namespace expunge::attention
