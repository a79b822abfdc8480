#include "certificate/hex_double.h"

#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace expunge::certificate {
namespace {

constexpr int kMantissaBits = 52;
constexpr int kExponentMask = 0x7ff;
constexpr int kExponentBias = 1023;

}  // namespace

std::string HexDouble(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const std::string sign = bits >> 63 != 0 ? "-" : "";
  const int biased = static_cast<int>(bits >> kMantissaBits) & kExponentMask;
  const uint64_t mantissa = bits & ((uint64_t{1} << kMantissaBits) - 1);
  if (biased == kExponentMask) return mantissa == 0 ? sign + "inf" : "nan";
  if (biased == 0 && mantissa == 0) return sign + "0x0p+0";

  std::string digits = absl::StrCat(absl::Hex(mantissa, absl::kZeroPad13));
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  const int exponent = biased == 0 ? 1 - kExponentBias : biased - kExponentBias;
  return absl::StrCat(sign, biased == 0 ? "0x0" : "0x1", digits.empty() ? "" : ".", digits,
                      exponent < 0 ? "p-" : "p+", exponent < 0 ? -exponent : exponent);
}

std::optional<double> ParseHexDouble(absl::string_view text) {
  absl::string_view rest = text;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (negative) rest.remove_prefix(1);
  double magnitude = std::numeric_limits<double>::infinity();
  if (rest != "inf") {
    if (!absl::StartsWith(rest, "0x")) return std::nullopt;
    rest.remove_prefix(2);
    const auto result =
        std::from_chars(rest.data(), rest.data() + rest.size(), magnitude, std::chars_format::hex);
    if (result.ec != std::errc() || result.ptr != rest.data() + rest.size()) return std::nullopt;
  }
  const double value = negative ? -magnitude : magnitude;
  if (HexDouble(value) != text) return std::nullopt;
  return value;
}

}  // namespace expunge::certificate
