// Local files: read whole, written whole or not at all.
#ifndef EXPUNGE_CLIENT_CLI_FILES_H_
#define EXPUNGE_CLIENT_CLI_FILES_H_

#include <sys/types.h>

#include <cstddef>
#include <memory>
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

// A file that grows piece by piece, beside its place, and takes it only when it is whole: synced, then
// renamed. Without Finish it goes with the object, and what was at its place stays.
class FileInProgress {
 public:
  // Returns: a UsageFailure that names the path; if it is no place for a file, such as a pipe, too.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<FileInProgress>> Begin(const std::string& path,
                                                                             mode_t mode);
  ~FileInProgress();
  FileInProgress(const FileInProgress&) = delete;
  FileInProgress& operator=(const FileInProgress&) = delete;

  // Returns: a UsageFailure that names the path.
  [[nodiscard]] absl::Status Append(absl::string_view bytes);
  [[nodiscard]] absl::Status Finish();

 private:
  FileInProgress(int file, std::string path, std::string target, std::string beside);
  int file_;
  const std::string path_;    // as the caller named it
  const std::string target_;  // behind links
  std::string beside_;        // empty: finished
};

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_FILES_H_
