// Text into HTML. The pages are well-formed XML as well: every element is closed, every attribute quoted.
#ifndef EXPUNGE_CLIENT_REPORT_HTML_H_
#define EXPUNGE_CLIENT_REPORT_HTML_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace expunge::report {

// `text` as it is, in an element or in an attribute: & < > " ' become references, and what XML does not have
// (control characters, bytes that are not UTF-8) is shown as \xNN.
[[nodiscard]] std::string Escape(absl::string_view text);

// <name>content</name>, or with class="...". `content` is HTML.
[[nodiscard]] std::string Element(absl::string_view name, absl::string_view content);
[[nodiscard]] std::string Element(absl::string_view name, absl::string_view css_class,
                                  absl::string_view content);

// A value of digits and letters in a fixed-width face, which may break anywhere.
[[nodiscard]] std::string Code(absl::string_view text);

// A list of terms and what they are. The values are HTML.
using Terms = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] std::string TermList(const Terms& terms);

// A list of sentences, as text.
[[nodiscard]] std::string BulletList(const std::vector<std::string>& sentences);

}  // namespace expunge::report

#endif  // EXPUNGE_CLIENT_REPORT_HTML_H_
