#include "certificate/forms.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/bytes.h"
#include "certificate/hex_double.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;

constexpr absl::string_view kTimeFormat = "%E4Y-%m-%dT%H:%M:%SZ";
constexpr size_t kTimeBytes = 20;

const std::string* StringOf(const json& value) { return value.get_ptr<const std::string*>(); }

std::optional<uint64_t> ParseCount(const json& value) {
  const std::string* text = StringOf(value);
  uint64_t count = 0;
  if (text == nullptr || !absl::SimpleAtoi(*text, &count) || absl::StrCat(count) != *text)
    return std::nullopt;
  return count;
}

std::optional<double> ParseBound(const json& value) {
  const std::string* text = StringOf(value);
  const std::optional<double> bound = text == nullptr ? std::nullopt : ParseHexDouble(*text);
  if (!bound.has_value() || std::signbit(*bound)) return std::nullopt;
  return bound;
}

}  // namespace

bool IsTextOrEmpty(const json& value) {
  const std::string* text = StringOf(value);
  return text != nullptr && text->size() <= kMaxTextBytes &&
         std::all_of(text->begin(), text->end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool IsText(const json& value) { return IsTextOrEmpty(value) && !StringOf(value)->empty(); }

bool IsDigest(const json& value) {
  const std::string* text = StringOf(value);
  return text != nullptr && text->size() == 2 * sizeof(Digest) && FromHex(*text).has_value();
}

bool IsNonce(const json& value) {
  const std::string* text = StringOf(value);
  return text != nullptr && text->size() <= 2 * kMaxNonceBytes && FromHex(*text).has_value();
}

bool IsCount(const json& value) { return ParseCount(value).has_value(); }

bool IsPositiveCount(const json& value) { return ParseCount(value).value_or(0) > 0; }

bool IsBound(const json& value) { return ParseBound(value).has_value(); }

bool IsPositiveFinite(const json& value) {
  const std::optional<double> bound = ParseBound(value);
  return bound.has_value() && *bound > 0 && std::isfinite(*bound);
}

bool IsTime(const json& value) {
  const std::string* text = StringOf(value);
  // A sign or a space would be part of a year that Abseil accepts and RFC 3339 does not have; a year 0 is
  // none of this calendar.
  if (text == nullptr || text->size() != kTimeBytes || !absl::ascii_isdigit(text->front()) ||
      absl::StartsWith(*text, "0000")) {
    return false;
  }
  absl::Time time;
  return absl::ParseTime(kTimeFormat, *text, &time, nullptr) &&
         absl::FormatTime(kTimeFormat, time, absl::UTCTimeZone()) == *text;
}

bool IsTimeOrEmpty(const json& value) {
  const auto* const text = value.get_ptr<const std::string*>();
  return (text != nullptr && text->empty()) || IsTime(value);
}

bool IsBool(const json& value) { return value.is_boolean(); }

bool IsClass(const json& value) { return value == "S" || value == "E" || value == "R"; }

uint64_t CountOf(const json& value) { return ParseCount(value).value_or(0); }

Digest DigestOf(const json& value) {
  const std::optional<std::string> bytes = FromHex(*StringOf(value));
  return DigestFromBytes(bytes.value_or("")).value_or(Digest{});
}

absl::Time TimeOf(const json& value) {
  absl::Time time;
  return absl::ParseTime(kTimeFormat, *StringOf(value), &time, nullptr) ? time : absl::UnixEpoch();
}

}  // namespace expunge::certificate
