// The parts of a log's text formats. For use inside this folder only.
#ifndef EXPUNGE_CERTIFICATE_LOG_TEXT_LINES_H_
#define EXPUNGE_CERTIFICATE_LOG_TEXT_LINES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/bytes.h"

namespace expunge::certificate {

// Takes the first line from `*text` and returns it without its line end; nullopt, and nothing taken, if no
// line end is left.
[[nodiscard]] std::optional<absl::string_view> TakeLine(absl::string_view* text);

// nullopt unless `text` is a 64-bit unsigned integer in decimal without leading zeros.
[[nodiscard]] std::optional<uint64_t> ParseDecimal(absl::string_view text);

// nullopt unless `text` is the base64 of 32 bytes.
[[nodiscard]] std::optional<Digest> ParseHash(absl::string_view text);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_LOG_TEXT_LINES_H_
