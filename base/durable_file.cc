#include "base/durable_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

namespace expunge {
namespace {

constexpr mode_t kPrivateMode = S_IRUSR | S_IWUSR;

// Gives `temporary` the name `path` unless that exists. File systems without RENAME_NOREPLACE have link().
int MoveWithoutReplacing(const std::string& temporary, const std::string& path) {
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (::link(temporary.c_str(), path.c_str()) != 0) return errno;
  return ::unlink(temporary.c_str()) == 0 ? 0 : errno;
}

std::string TemporaryFor(const std::string& path) {
  return absl::StrCat(path, ".new-", ToHex(AsView(RandomDigest()).substr(0, 8)));
}

absl::Status WriteTemporary(const std::string& temporary, absl::string_view contents, mode_t mode,
                            bool sync) {
  const Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file.ok()) return SystemError(errno, "make", temporary);
  if (const int error = WriteAt(file.get(), 0, contents); error != 0)
    return SystemError(error, "write", temporary);
  // The mode at creation is subject to the umask.
  if (::fchmod(file.get(), mode) != 0) return SystemError(errno, "set the mode of", temporary);
  if (sync && ::fsync(file.get()) != 0) return SystemError(errno, "sync", temporary);
  return absl::OkStatus();
}

}  // namespace

Descriptor::~Descriptor() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

absl::Status SystemError(int code, absl::string_view doing, absl::string_view path) {
  return MakeError(Reason::kStorageFailed, "",
                   absl::StrCat("could not ", doing, " ", path, ": ", std::generic_category().message(code)));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

ssize_t ReadAt(int descriptor, uint64_t offset, void* out, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        ::pread(descriptor, static_cast<char*>(out) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

int WriteAt(int descriptor, uint64_t offset, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    if (put == 0) return EIO;
    bytes.remove_prefix(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
  return 0;
}

absl::StatusOr<std::string> ReadWhole(const std::string& path, size_t max_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok() && (errno == ENOENT || errno == ENOTDIR)) {
    return absl::NotFoundError(absl::StrCat("there is no file ", path));
  }
  if (!file.ok()) return SystemError(errno, "open", path);
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return SystemError(errno, "read", path);
  if (!S_ISREG(found.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is not a file"));
  std::string contents(std::min(static_cast<size_t>(found.st_size), max_bytes) + 1, '\0');
  const ssize_t got = ReadAt(file.get(), 0, contents.data(), contents.size());
  if (got < 0) return SystemError(errno, "read", path);
  if (static_cast<size_t>(got) > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has more than ", max_bytes, " bytes"));
  }
  contents.resize(static_cast<size_t>(got));
  return contents;
}

absl::Status SyncFolder(const std::string& folder) {
  const Descriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.ok() || ::fsync(file.get()) != 0) return SystemError(errno, "sync the directory", folder);
  return absl::OkStatus();
}

absl::Status CreateDurably(const std::string& path, absl::string_view contents) {
  const std::string temporary = TemporaryFor(path);
  absl::Status status = WriteTemporary(temporary, contents, kPrivateMode, true);
  if (status.ok()) {
    const int error = MoveWithoutReplacing(temporary, path);
    if (error == 0) return SyncFolder(FolderOf(path));
    status = error == EEXIST ? absl::AlreadyExistsError(absl::StrCat(path, " exists"))
                             : SystemError(error, "make", path);
  }
  ::unlink(temporary.c_str());
  return status;
}

absl::Status ReplaceDurably(const std::string& path, absl::string_view contents) {
  return ReplaceFile(path, contents, kPrivateMode, true);
}

absl::Status ReplaceFile(const std::string& path, absl::string_view contents, mode_t mode, bool sync) {
  const std::string temporary = TemporaryFor(path);
  absl::Status status = WriteTemporary(temporary, contents, mode, sync);
  if (status.ok()) {
    if (::rename(temporary.c_str(), path.c_str()) == 0) {
      return sync ? SyncFolder(FolderOf(path)) : absl::OkStatus();
    }
    status = SystemError(errno, "replace", path);
  }
  ::unlink(temporary.c_str());
  return status;
}

}  // namespace expunge
