// How a command fails: a message that says what happened, a hint that says what to do next, and an exit code.
#ifndef EXPUNGE_CLIENT_CLI_FAILURE_H_
#define EXPUNGE_CLIENT_CLI_FAILURE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace expunge::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitRefused = 1,      // the service refused the call, or a certificate did not verify
  kExitUsage = 2,        // wrong options, or a local file that cannot be used
  kExitUnreachable = 3,  // no answer from the service
};

// The command line or a local file is at fault (exit code 2).
[[nodiscard]] absl::Status UsageFailure(absl::string_view message, absl::string_view hint);

// A check that this program made did not pass (exit code 1). `reason` is a stable name, such as
// "BAD_SIGNATURE".
[[nodiscard]] absl::Status Refusal(absl::string_view reason, absl::string_view message,
                                   absl::string_view hint);

// `status` with another hint. OK stays OK.
[[nodiscard]] absl::Status WithHint(const absl::Status& status, absl::string_view hint);

// `status` with `prefix` before its message; everything else is kept. OK stays OK.
[[nodiscard]] absl::Status WithContext(absl::string_view prefix, const absl::Status& status);

[[nodiscard]] int ExitCodeOf(const absl::Status& status);

// What the caller can do next; empty if nothing is known to help.
[[nodiscard]] std::string HintOf(const absl::Status& status);

// The name of the refusal's reason; empty for other failures.
[[nodiscard]] std::string RefusalReason(const absl::Status& status);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_FAILURE_H_
