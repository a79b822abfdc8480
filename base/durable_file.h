// Files that must be on the disk when a call returns: descriptors, whole reads and writes, and creation.
//
// Errors are Unavailable (kStorageFailed), with the system's own words and the path.
#ifndef EXPUNGE_BASE_DURABLE_FILE_H_
#define EXPUNGE_BASE_DURABLE_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace expunge {

// Closes a descriptor. Below 0: none.
class Descriptor {
 public:
  explicit Descriptor(int descriptor = -1) : descriptor_(descriptor) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const { return descriptor_; }
  [[nodiscard]] bool ok() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

// "could not `doing` `path`: " and the system's words for `code`, a value of errno.
[[nodiscard]] absl::Status SystemError(int code, absl::string_view doing, absl::string_view path);

// The folder that `path` lies in.
[[nodiscard]] std::string FolderOf(const std::string& path);

// Reads up to `bytes` from `offset` on; fewer only at the end of the file. Returns how many, or -1, with
// errno.
[[nodiscard]] ssize_t ReadAt(int descriptor, uint64_t offset, void* out, size_t bytes);

// Writes all of `bytes`. Returns 0, or the value of errno; some may be written then.
[[nodiscard]] int WriteAt(int descriptor, uint64_t offset, absl::string_view bytes);

// All of a file. Returns: NotFound; kStorageFailed; InvalidArgument if it is no file, or has more than
// `max_bytes`.
[[nodiscard]] absl::StatusOr<std::string> ReadWhole(const std::string& path, size_t max_bytes);

// Makes the names in a folder durable.
[[nodiscard]] absl::Status SyncFolder(const std::string& folder);

// Makes the file `path` (mode 0600) with these contents, all at once: under another name first, synced, then
// renamed without replacing anything, and the folder synced. Cost: two syncs. Returns: AlreadyExists if there
// is such a file; kStorageFailed.
[[nodiscard]] absl::Status CreateDurably(const std::string& path, absl::string_view contents);

// The same, in the place of a file that may be there: whoever opens it sees the one or the other, whole.
// Cost: two syncs. Returns: kStorageFailed; then it is the old one, or the new one as a whole.
[[nodiscard]] absl::Status ReplaceDurably(const std::string& path, absl::string_view contents);
// With another mode, and durable only if `sync`.
[[nodiscard]] absl::Status ReplaceFile(const std::string& path, absl::string_view contents, mode_t mode,
                                       bool sync);

}  // namespace expunge

#endif  // EXPUNGE_BASE_DURABLE_FILE_H_
