#include "storage/directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace expunge::storage {
namespace {

absl::Status SystemError(int code, absl::string_view doing, absl::string_view path) {
  return MakeError(Reason::kStorageFailed, "",
                   absl::StrCat("could not ", doing, " ", path, ": ", std::generic_category().message(code)));
}

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
  const std::string file = absl::StrCat(path, "/lock");
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return SystemError(errno, "open", file);
  DirectoryLock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return SystemError(errno, "lock", file);
  return absl::FailedPreconditionError(
      absl::StrCat("the data directory ", path,
                   " is in use: stop the server that has it open, or choose another directory"));
}

DirectoryLock::~DirectoryLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

}  // namespace expunge::storage
