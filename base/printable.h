// Text of unknown origin, made safe to show.
#ifndef EXPUNGE_BASE_PRINTABLE_H_
#define EXPUNGE_BASE_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace expunge {

// `text` on one line, for a terminal: each byte of a control character (line ends and escape sequences), of a
// character that reorders or hides its neighbours, and of what is not UTF-8 becomes \xNN. All else stays.
[[nodiscard]] std::string Printable(absl::string_view text);

// The same, but line ends stay.
[[nodiscard]] std::string PrintableLines(absl::string_view text);

// Whether `text` is UTF-8, as a text field of the API must be.
[[nodiscard]] bool IsUtf8(absl::string_view text);

}  // namespace expunge

#endif  // EXPUNGE_BASE_PRINTABLE_H_
