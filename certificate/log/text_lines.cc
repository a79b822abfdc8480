#include "certificate/log/text_lines.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace expunge::certificate {

std::optional<absl::string_view> TakeLine(absl::string_view* text) {
  const size_t end = text->find('\n');
  if (end == absl::string_view::npos) return std::nullopt;
  const absl::string_view line = text->substr(0, end);
  text->remove_prefix(end + 1);
  return line;
}

std::optional<uint64_t> ParseDecimal(absl::string_view text) {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || text != absl::StrCat(value)) return std::nullopt;
  return value;
}

std::optional<Digest> ParseHash(absl::string_view text) {
  const std::optional<std::string> bytes = FromBase64(text);
  return bytes.has_value() ? DigestFromBytes(*bytes) : std::nullopt;
}

}  // namespace expunge::certificate
