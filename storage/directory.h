// The data directory: private to its owner, and used by one process at a time.
#ifndef EXPUNGE_STORAGE_DIRECTORY_H_
#define EXPUNGE_STORAGE_DIRECTORY_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/durable_file.h"

namespace expunge::storage {

// Makes `path` (mode 0700) and the directories above it, or accepts the directory that is there.
// Returns: NotFound if it is absent and `create` is false; Unavailable (kStorageFailed) otherwise.
[[nodiscard]] absl::Status PrepareDirectory(const std::string& path, bool create);

// Holds the lock of a data directory until it is destroyed; the system releases it when the process dies.
class DirectoryLock {
 public:
  // Returns: FailedPrecondition if it is held already, by this process or another.
  [[nodiscard]] static absl::StatusOr<DirectoryLock> Acquire(const std::string& path);
  // Makes no lock file. Returns: as Acquire; NotFound if there is none: nobody ever had the directory open.
  [[nodiscard]] static absl::StatusOr<DirectoryLock> AcquireExisting(const std::string& path);

 private:
  static absl::StatusOr<DirectoryLock> Lock(const std::string& path, Descriptor descriptor);
  explicit DirectoryLock(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  Descriptor descriptor_;
};

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_DIRECTORY_H_
