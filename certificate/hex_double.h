// Doubles as text that loses nothing: C hex-floats.
//
// The form is that of printf("%a") in the C locale, whatever the program's locale is: "0x1.8p-3", "0x0p+0",
// "-inf", "nan"; subnormals keep the leading 0 and the exponent -1022. Every double has exactly one form.
#ifndef EXPUNGE_CERTIFICATE_HEX_DOUBLE_H_
#define EXPUNGE_CERTIFICATE_HEX_DOUBLE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace expunge::certificate {

[[nodiscard]] std::string HexDouble(double value);

// nullopt unless `text` is what HexDouble returns for some double other than a NaN.
[[nodiscard]] std::optional<double> ParseHexDouble(absl::string_view text);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_HEX_DOUBLE_H_
