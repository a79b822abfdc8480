// JSON from strangers: bounds first, then a tree. For use inside this folder only.
#ifndef EXPUNGE_CERTIFICATE_JSON_TEXT_H_
#define EXPUNGE_CERTIFICATE_JSON_TEXT_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/string_view.h"

namespace expunge::certificate {

struct JsonLimits {
  size_t max_depth = 16;      // of nested objects and arrays
  size_t max_separators = 0;  // commas and colons; 0: no limit
};

// Whether `text` is one JSON text (RFC 8259) in valid UTF-8. Cost: O(size), memory O(depth) bits.
[[nodiscard]] bool IsJson(absl::string_view text);

// The value of `text`, or nullopt if it is not JSON or beyond the limits, which are checked before anything
// is built. Of equal keys in one object one survives: compare with the canonical form to notice.
[[nodiscard]] std::optional<nlohmann::json> ParseJson(absl::string_view text, const JsonLimits& limits);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_JSON_TEXT_H_
