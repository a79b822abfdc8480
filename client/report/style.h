// The look of the page: light and dark, screen and paper, without anything from elsewhere.
#ifndef EXPUNGE_CLIENT_REPORT_STYLE_H_
#define EXPUNGE_CLIENT_REPORT_STYLE_H_

#include "absl/strings/string_view.h"

namespace expunge::report {

// CSS, with nothing in it that XML would have to escape.
[[nodiscard]] absl::string_view Style();

}  // namespace expunge::report

#endif  // EXPUNGE_CLIENT_REPORT_STYLE_H_
