// One HTTP request, by libcurl: for a time-stamping authority that the user names.
#ifndef EXPUNGE_CLIENT_CLI_HTTP_H_
#define EXPUNGE_CLIENT_CLI_HTTP_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace expunge::cli {

struct HttpRequest {
  std::string url;           // http:// or https://
  std::string content_type;  // of `body`, and what is accepted in return
  std::string accept;
  std::string body;
  absl::Duration timeout = absl::Seconds(60);
  size_t max_answer_bytes = size_t{1} << 20;
};

// POST; follows no redirection, and takes no answer but 200. Certificates of https are checked.
// Returns: a UsageFailure that names the URL and what went wrong.
[[nodiscard]] absl::StatusOr<std::string> Post(const HttpRequest& request);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_HTTP_H_
