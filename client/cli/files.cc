#include "client/cli/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "client/cli/failure.h"

namespace expunge::cli {
namespace {

std::string ErrorText(int error) { return std::generic_category().message(error); }

// Writes all of `bytes` to `file` and syncs it; 0, or the errno of what failed.
int WriteAndSync(int file, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return fsync(file) == 0 ? 0 : errno;
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    return UsageFailure(absl::StrCat("cannot read ", path, ": ", ErrorText(errno)), "check the path");
  }
  if (S_ISDIR(info.st_mode)) return UsageFailure(absl::StrCat(path, " is a directory"), "name a file");
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  // One byte more than allowed tells a file that is too large, whatever its size claims to be.
  char buffer[65536];
  while (file && bytes.size() <= max_bytes) {
    file.read(buffer, sizeof buffer);
    bytes.append(buffer, static_cast<size_t>(file.gcount()));
  }
  if (!file.eof() && bytes.size() <= max_bytes) {
    return UsageFailure(absl::StrCat("cannot read ", path), "check that you may read it");
  }
  if (bytes.size() > max_bytes) {
    return UsageFailure(absl::StrCat(path, " has more than ", max_bytes, " bytes"),
                        "check that it is the right file");
  }
  return bytes;
}

absl::Status WriteFile(const std::string& path, absl::string_view bytes, mode_t mode) {
  const std::string beside = absl::StrCat(path, ".", getpid(), ".tmp");
  const int file = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) {
    return UsageFailure(absl::StrCat("cannot write ", path, ": ", ErrorText(errno)), "choose another place");
  }
  int error = fchmod(file, mode) == 0 ? WriteAndSync(file, bytes) : errno;
  if (close(file) != 0 && error == 0) error = errno;
  if (error == 0 && rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return absl::OkStatus();
  unlink(beside.c_str());
  return UsageFailure(absl::StrCat("cannot write ", path, ": ", ErrorText(error)), "choose another place");
}

}  // namespace expunge::cli
