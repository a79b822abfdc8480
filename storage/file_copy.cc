#include "storage/file_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace expunge::storage {
namespace {

constexpr size_t kRunBytes = size_t{1} << 20;

absl::StatusOr<Descriptor> OpenForReading(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
  if (!file.ok() && errno == ENOENT) return absl::NotFoundError(absl::StrCat(path, " is missing"));
  if (!file.ok()) return SystemError(errno, "open", path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return SystemError(errno, "examine", path);
  if (S_ISREG(status.st_mode)) return file;
  return MakeError(Reason::kStorageFailed, "", absl::StrCat(path, " is not a regular file"));
}

// Calls `take(offset, bytes)` for one run after the other; it returns 0 or a value of errno.
absl::StatusOr<FileSum> ReadThrough(const std::string& path,
                                    const std::function<absl::Status(uint64_t, absl::string_view)>& take) {
  EXPUNGE_ASSIGN_OR_RETURN(const Descriptor file, OpenForReading(path));
  std::string run(kRunBytes, '\0');
  Sha256Stream sha256;
  FileSum sum;
  for (;;) {
    const ssize_t got = ReadAt(file.get(), sum.size, run.data(), run.size());
    if (got < 0) return SystemError(errno, "read", path);
    const absl::string_view bytes(run.data(), static_cast<size_t>(got));
    EXPUNGE_RETURN_IF_ERROR(take(sum.size, bytes));
    sha256.Update(bytes);
    sum.size += bytes.size();
    if (bytes.size() < run.size()) break;
  }
  sum.sha256 = sha256.Finish();
  return sum;
}

}  // namespace

absl::StatusOr<FileSum> SumFile(const std::string& path) {
  return ReadThrough(path, [](uint64_t, absl::string_view) { return absl::OkStatus(); });
}

absl::StatusOr<FileSum> CopyFile(const std::string& from, const std::string& to) {
  const Descriptor file(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.ok() && errno == EEXIST) return absl::AlreadyExistsError(absl::StrCat(to, " exists"));
  if (!file.ok()) return SystemError(errno, "make", to);
  EXPUNGE_ASSIGN_OR_RETURN(const FileSum sum, ReadThrough(from, [&](uint64_t offset, absl::string_view run) {
                             const int error = WriteAt(file.get(), offset, run);
                             return error == 0 ? absl::OkStatus() : SystemError(error, "write", to);
                           }));
  if (::fsync(file.get()) != 0) return SystemError(errno, "sync", to);
  return sum;
}

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, uint64_t most) {
  std::string text;
  const auto append = [&](uint64_t offset, absl::string_view run) {
    if (offset + run.size() > most) {
      return MakeError(Reason::kStorageFailed, "",
                       absl::StrCat(path, " has more than the ", most, " bytes that it can have"));
    }
    text.append(run.data(), run.size());
    return absl::OkStatus();
  };
  EXPUNGE_RETURN_IF_ERROR(ReadThrough(path, append).status());
  return text;
}

absl::Status MakeDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), S_IRWXU) == 0) return absl::OkStatus();
  if (errno == EEXIST) return absl::AlreadyExistsError(absl::StrCat(path, " exists"));
  return SystemError(errno, "make the directory", path);
}

absl::StatusOr<std::vector<std::string>> ListTree(const std::string& directory) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string path = entry->path().lexically_relative(directory).string();
    const bool is_directory = entry->symlink_status(error).type() == fs::file_type::directory;
    if (error) break;
    if (!is_directory) {
      paths.push_back(std::move(path));
    } else if (fs::is_empty(entry->path(), error)) {
      paths.push_back(path + "/");
    }
    if (error) break;
  }
  if (error) return SystemError(error.value(), "list", directory);
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::Status RemoveTree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return SystemError(error.value(), "remove", path);
  return absl::OkStatus();
}

}  // namespace expunge::storage
