// Local files: read whole, written whole or not at all.
#ifndef EXPUNGE_CLIENT_CLI_FILES_H_
#define EXPUNGE_CLIENT_CLI_FILES_H_

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace expunge::cli {

// The first `max_bytes` bytes of a file, or all if it has fewer.
// Returns: a UsageFailure that names the path if it cannot be read.
[[nodiscard]] absl::StatusOr<std::string> ReadStart(const std::string& path, size_t max_bytes);

// Returns: a UsageFailure that names the path if it cannot be read or is larger than `max_bytes`.
[[nodiscard]] absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes);

// Replaces `path` by exactly `bytes`: written beside it, synced, then renamed, with the permissions `mode`. A
// link stays and its target is replaced; a pipe or a device is written into.
// Returns: a UsageFailure that names the path; then the old file, if there was one, is still there.
[[nodiscard]] absl::Status WriteFile(const std::string& path, absl::string_view bytes, mode_t mode);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_FILES_H_
