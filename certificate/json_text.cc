#include "certificate/json_text.h"

#include <algorithm>
#include <utility>

namespace expunge::certificate {
namespace {

// REQUIRES: IsJson(text), so that brackets match and quotes are balanced.
bool WithinLimits(absl::string_view text, const JsonLimits& limits) {
  size_t depth = 0;
  size_t deepest = 0;
  size_t separators = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}') --depth;
    if (c == ',' || c == ':') ++separators;
  }
  return deepest <= limits.max_depth && (limits.max_separators == 0 || separators <= limits.max_separators);
}

}  // namespace

bool IsJson(absl::string_view text) { return nlohmann::json::accept(text.begin(), text.end()); }

std::optional<nlohmann::json> ParseJson(absl::string_view text, const JsonLimits& limits) {
  if (!IsJson(text) || !WithinLimits(text, limits)) return std::nullopt;
  auto value = nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return std::nullopt;
  return std::optional<nlohmann::json>(std::move(value));
}

}  // namespace expunge::certificate
