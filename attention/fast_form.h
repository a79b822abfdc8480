// The fast form of a support set in float or double (packed_support.h), computed in doubles.
#ifndef EXPUNGE_ATTENTION_FAST_FORM_H_
#define EXPUNGE_ATTENTION_FAST_FORM_H_

#include <cstddef>
#include <memory>

#include "absl/types/span.h"
#include "attention/support_set.h"
#include "base/secret.h"

namespace expunge::attention {

// What a fast form is made of.
struct FormSource {
  size_t key_dimension = 0;
  size_t value_dimension = 0;
  double gamma = 0;
  double rho = 0;
  absl::Span<const double> keys;     // row-major
  absl::Span<const double> values;   // row-major
  absl::Span<const double> weights;  // none is 0
  ValueBounds bounds;
};

// A fast form and the arrays that it points into.
template <typename T>
struct OwnedFastForm {
  SecretArray<T> key_panels;
  SecretArray<T> bias;
  SecretArray<T> values;
  SecretArray<T> key_centre;
  SecretArray<T> value_centre;
  FastForm<T> form;
};

// T: float or double. Null where something exceeds the range of T. REQUIRES: at least one token.
// Cost: O(m (d + dv)).
template <typename T>
[[nodiscard]] std::unique_ptr<const OwnedFastForm<T>> MakeFastForm(const FormSource& source);

// `x` rounded up to a multiple of kPanel.
[[nodiscard]] constexpr size_t RoundUpToPanel(size_t x) { return (x + kPanel - 1) / kPanel * kPanel; }

// An upper bound of |x|_2, without squares that leave the range of a double. `x` is scaled in place.
[[nodiscard]] double NormUpper(absl::Span<double> x);

}  // namespace expunge::attention

#endif  // EXPUNGE_ATTENTION_FAST_FORM_H_
