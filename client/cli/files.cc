#include "client/cli/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/durable_file.h"
#include "base/status_macros.h"
#include "client/cli/failure.h"

namespace expunge::cli {
namespace {

std::string ErrorText(int error) { return std::generic_category().message(error); }

// Writes all of `bytes` to `file`; 0, or the errno of what failed.
int WriteAll(int file, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

int Sync(int file) { return fsync(file) == 0 ? 0 : errno; }

absl::Status CannotWrite(const std::string& path, int error) {
  return UsageFailure(absl::StrCat("cannot write ", path, ": ", ErrorText(error)), "choose another place");
}

// For a pipe or a device: it takes the bytes, cannot be synced, and is never replaced by a file.
absl::Status WriteInto(const std::string& path, absl::string_view bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return CannotWrite(path, errno);
  int error = WriteAll(file, bytes);
  if (close(file) != 0 && error == 0) error = errno;
  return error == 0 ? absl::OkStatus() : CannotWrite(path, error);
}

// Where a link leads; `path` itself if it is none, or leads nowhere.
std::string Resolve(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(realpath(path.c_str(), nullptr), &std::free);
  return resolved == nullptr ? path : std::string(resolved.get());
}

}  // namespace

absl::StatusOr<std::string> ReadStart(const std::string& path, size_t max_bytes) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    return UsageFailure(absl::StrCat("cannot read ", path, ": ", ErrorText(errno)), "check the path");
  }
  if (S_ISDIR(info.st_mode)) return UsageFailure(absl::StrCat(path, " is a directory"), "name a file");
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  char buffer[65536];
  while (file && bytes.size() < max_bytes) {
    file.read(buffer, static_cast<std::streamsize>(std::min(sizeof buffer, max_bytes - bytes.size())));
    bytes.append(buffer, static_cast<size_t>(file.gcount()));
  }
  if (!file.eof() && bytes.size() < max_bytes) {
    return UsageFailure(absl::StrCat("cannot read ", path), "check that you may read it");
  }
  return bytes;
}

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  // One byte more than allowed tells a file that is too large, whatever its size claims to be.
  EXPUNGE_ASSIGN_OR_RETURN(std::string bytes, ReadStart(path, max_bytes + 1));
  if (bytes.size() > max_bytes) {
    return UsageFailure(absl::StrCat(path, " has more than ", max_bytes, " bytes"),
                        "check that it is the right file");
  }
  return bytes;
}

absl::Status WriteFile(const std::string& path, absl::string_view bytes, mode_t mode) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    return WriteInto(path, bytes);
  }
  const std::string target = Resolve(path);
  const std::string beside = absl::StrCat(target, ".", getpid(), ".tmp");
  const int file = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) return CannotWrite(path, errno);
  int error = fchmod(file, mode) == 0 ? WriteAll(file, bytes) : errno;
  if (error == 0) error = Sync(file);
  if (close(file) != 0 && error == 0) error = errno;
  if (error == 0 && rename(beside.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return absl::OkStatus();
  unlink(beside.c_str());
  return CannotWrite(path, error);
}

FileInProgress::FileInProgress(int file, std::string path, std::string target, std::string beside)
    : file_(file), path_(std::move(path)), target_(std::move(target)), beside_(std::move(beside)) {}

FileInProgress::~FileInProgress() {
  if (file_ >= 0) close(file_);
  if (!beside_.empty()) unlink(beside_.c_str());
}

absl::StatusOr<std::unique_ptr<FileInProgress>> FileInProgress::Begin(const std::string& path, mode_t mode) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return UsageFailure(absl::StrCat(path, " is no file"), "name a file, or a new one");
  }
  const std::string target = Resolve(path);
  const std::string beside = absl::StrCat(target, ".", getpid(), ".tmp");
  const int file = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) return CannotWrite(path, errno);
  auto begun = absl::WrapUnique(new FileInProgress(file, path, target, beside));
  if (fchmod(file, mode) != 0) return CannotWrite(path, errno);
  return begun;
}

absl::Status FileInProgress::Append(absl::string_view bytes) {
  const int error = WriteAll(file_, bytes);
  return error == 0 ? absl::OkStatus() : CannotWrite(path_, error);
}

absl::Status FileInProgress::Finish() {
  int error = Sync(file_);
  if (close(std::exchange(file_, -1)) != 0 && error == 0) error = errno;
  if (error == 0 && rename(beside_.c_str(), target_.c_str()) != 0) error = errno;
  if (error != 0) return CannotWrite(path_, error);
  beside_.clear();
  return SyncFolder(FolderOf(target_));
}

}  // namespace expunge::cli
