#include "storage/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/durable_file.h"
#include "base/status_macros.h"

namespace expunge::storage {
namespace {

absl::Status CheckFile(absl::string_view what, const Descriptor& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return SystemError(errno, "examine", path);
  if (!S_ISREG(status.st_mode)) {
    return absl::PermissionDeniedError(absl::StrCat(what, " ", path, " is not a regular file"));
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(what, " ", path, " belongs to another user than this process's, or root"));
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(what, " ", path,
                                                    " is open to others than its owner; run: chmod 600 ",
                                                    path, " (and mind that somebody may have read it)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SecretBytes> ReadPrivateFile(absl::string_view what, const std::string& path, size_t limit) {
  // O_NONBLOCK: a FIFO must not hold up the start.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.ok() && errno == ENOENT) return absl::NotFoundError(absl::StrCat(what, " ", path, " is missing"));
  if (!file.ok()) return SystemError(errno, "open", path);
  EXPUNGE_RETURN_IF_ERROR(CheckFile(what, file, path));
  SecretBytes bytes(limit + 1);
  const ssize_t size = ReadAt(file.get(), 0, bytes.data(), bytes.size());
  if (size < 0) return SystemError(errno, "read", path);
  bytes.resize(static_cast<size_t>(size));
  return bytes;
}

}  // namespace expunge::storage
