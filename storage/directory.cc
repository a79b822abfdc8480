#include "storage/directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace expunge::storage {
namespace {

std::string LockFile(const std::string& path) { return absl::StrCat(path, "/lock"); }

}  // namespace

absl::Status PrepareDirectory(const std::string& path, bool create) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return absl::OkStatus();
  if (!create) return absl::NotFoundError(absl::StrCat("no data directory ", path));
  const std::filesystem::path parent =
      std::filesystem::absolute(path, error).lexically_normal().parent_path();
  std::filesystem::create_directories(parent, error);
  if (error) return SystemError(error.value(), "make the directory", parent.string());
  if (::mkdir(path.c_str(), S_IRWXU) != 0) return SystemError(errno, "make the directory", path);
  return absl::OkStatus();
}

absl::StatusOr<DirectoryLock> DirectoryLock::Acquire(const std::string& path) {
  const std::string file = LockFile(path);
  Descriptor descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!descriptor.ok()) return SystemError(errno, "open", file);
  return Lock(path, std::move(descriptor));
}

absl::StatusOr<DirectoryLock> DirectoryLock::AcquireExisting(const std::string& path) {
  const std::string file = LockFile(path);
  Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.ok()) return Lock(path, std::move(descriptor));
  if (errno != ENOENT) return SystemError(errno, "open", file);
  return absl::NotFoundError(
      absl::StrCat(path, " was never served: it has no file `lock`, with which a server keeps others out"));
}

absl::StatusOr<DirectoryLock> DirectoryLock::Lock(const std::string& path, Descriptor descriptor) {
  if (::flock(descriptor.get(), LOCK_EX | LOCK_NB) == 0) return DirectoryLock(std::move(descriptor));
  if (errno != EWOULDBLOCK) return SystemError(errno, "lock", LockFile(path));
  return absl::FailedPreconditionError(
      absl::StrCat("the data directory ", path,
                   " is in use: stop the server that has it open, or choose another directory"));
}

}  // namespace expunge::storage
