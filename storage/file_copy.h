// Copies of whole files that are on the disk when a call returns, and what their bytes add up to.
//
// Errors are Unavailable (kStorageFailed), with the system's own words and the path.
#ifndef EXPUNGE_STORAGE_FILE_COPY_H_
#define EXPUNGE_STORAGE_FILE_COPY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"

namespace expunge::storage {

struct FileSum {
  uint64_t size = 0;
  Digest sha256{};
  friend bool operator==(const FileSum&, const FileSum&) = default;
};

// Reads the file once, 1 MiB at a time. Returns: NotFound if there is none.
[[nodiscard]] absl::StatusOr<FileSum> SumFile(const std::string& path);

// Makes the file `to` (mode 0600) with the bytes of `from`, and syncs it, not its folder. Returns what was
// copied; AlreadyExists if `to` exists; NotFound.
[[nodiscard]] absl::StatusOr<FileSum> CopyFile(const std::string& from, const std::string& to);

// The whole file, if it has at most `most` bytes. Returns: NotFound; kStorageFailed if it is larger.
[[nodiscard]] absl::StatusOr<std::string> ReadSmallFile(const std::string& path, uint64_t most);

// Makes one directory (mode 0700). Returns: AlreadyExists if there is anything under that name.
[[nodiscard]] absl::Status MakeDirectory(const std::string& path);

// The paths of everything below `directory` but directories, relative to it, in ascending order; a directory
// without anything in it counts, with a slash at its end.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> ListTree(const std::string& directory);

// Removes a file, or a directory with all in it, if there is one. Not synced.
[[nodiscard]] absl::Status RemoveTree(const std::string& path);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_FILE_COPY_H_
