// An HTML file printed to PDF by whatever Chromium is at hand.
#ifndef EXPUNGE_CLIENT_CLI_PDF_H_
#define EXPUNGE_CLIENT_CLI_PDF_H_

#include <string>

#include "absl/status/status.h"

namespace expunge::cli {

// Prints `html` (a file) to `pdf`, which is replaced once it is whole. The browser runs headless, with a
// profile of its own that goes with it. $EXPUNGE_CHROMIUM names one that is not called chromium,
// chromium-browser, google-chrome or google-chrome-stable. Cost: some seconds. Returns: a UsageFailure if
// there is no browser, or it makes no PDF within a minute.
[[nodiscard]] absl::Status PrintToPdf(const std::string& html, const std::string& pdf);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_PDF_H_
