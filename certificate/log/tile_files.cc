#include "certificate/log/tile_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/durable_file.h"
#include "base/hash.h"

namespace expunge::certificate {
namespace {

constexpr mode_t kFolderMode = 0755;
constexpr mode_t kFileMode = 0644;

absl::Status WriteNewFile(const std::string& path, absl::string_view contents, bool sync) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
  if (!file.ok()) return SystemError(errno, "make", path);
  if (const int error = WriteAt(file.get(), 0, contents); error != 0)
    return SystemError(error, "write", path);
  // The mode at creation is subject to the umask.
  if (::fchmod(file.get(), kFileMode) != 0) return SystemError(errno, "set the mode of", path);
  if (sync && ::fsync(file.get()) != 0) return SystemError(errno, "sync", path);
  return absl::OkStatus();
}

}  // namespace

absl::Status MakeFolders(const std::string& path, bool sync) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) {
    return S_ISDIR(found.st_mode) ? absl::OkStatus() : SystemError(ENOTDIR, "use", path);
  }
  const std::string above = FolderOf(path);
  if (above == path) return SystemError(errno, "use", path);
  if (absl::Status made = MakeFolders(above, sync); !made.ok()) return made;
  if (::mkdir(path.c_str(), kFolderMode) != 0) return SystemError(errno, "make", path);
  if (::chmod(path.c_str(), kFolderMode) != 0) return SystemError(errno, "set the mode of", path);
  return sync ? SyncFolder(above) : absl::OkStatus();
}

absl::Status ReplaceFile(const std::string& path, absl::string_view contents, bool sync) {
  const std::string temporary = absl::StrCat(path, ".new-", ToHex(AsView(RandomDigest()).substr(0, 8)));
  absl::Status status = WriteNewFile(temporary, contents, sync);
  if (status.ok()) {
    if (::rename(temporary.c_str(), path.c_str()) == 0) {
      return sync ? SyncFolder(FolderOf(path)) : absl::OkStatus();
    }
    status = SystemError(errno, "replace", path);
  }
  ::unlink(temporary.c_str());
  return status;
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path, size_t max_bytes) {
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

}  // namespace expunge::certificate
