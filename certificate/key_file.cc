// KeyInFile.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/durable_file.h"
#include "base/fault_point.h"
#include "base/status_macros.h"
#include "certificate/key_keeper.h"
#include "certificate/signing_key.h"

namespace expunge::certificate {
namespace {

// Writes zeros over the file's bytes, synced. OK if there is none.
absl::Status Overwrite(const std::string& path) {
  if (::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0) {
    return errno == ENOENT ? absl::OkStatus() : SystemError(errno, "open for its end", path);
  }
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  struct stat status {};
  if (!file.ok() || ::fstat(file.get(), &status) != 0) return SystemError(errno, "open for its end", path);
  const std::string zeros(static_cast<size_t>(std::max<off_t>(0, status.st_size)), '\0');
  if (const int error = WriteAt(file.get(), 0, zeros); error != 0) {
    return SystemError(error, "overwrite", path);
  }
  return ::fsync(file.get()) == 0 ? absl::OkStatus() : SystemError(errno, "overwrite", path);
}

absl::StatusOr<KeyKeeper::Key> ToSigner(absl::StatusOr<SigningKey> key) {
  if (!key.ok()) return key.status();
  return SignerOf(*std::move(key));
}

class FileKeeper : public KeyKeeper {
 public:
  explicit FileKeeper(std::string path) : path_(std::move(path)), next_(path_ + kNextKeySuffix) {}

  absl::StatusOr<Key> Load() override { return ToSigner(SigningKey::LoadExisting(path_)); }
  absl::StatusOr<Key> LoadNext() override { return ToSigner(SigningKey::LoadExisting(next_)); }
  absl::StatusOr<Key> LoadOrCreate() override { return ToSigner(SigningKey::LoadOrCreate(path_)); }

  absl::StatusOr<Key> PrepareNext() override {
    EXPUNGE_RETURN_IF_ERROR(DropNext());
    absl::StatusOr<Key> made = ToSigner(SigningKey::LoadOrCreate(next_));
    CrashPoint("keys.next_made");
    return made;
  }

  absl::Status Promote() override {
    EXPUNGE_RETURN_IF_ERROR(Overwrite(path_));
    CrashPoint("keys.old_overwritten");
    if (std::rename(next_.c_str(), path_.c_str()) != 0) return SystemError(errno, "replace", path_);
    EXPUNGE_RETURN_IF_ERROR(SyncFolder(FolderOf(path_)));
    CrashPoint("keys.promoted");
    return absl::OkStatus();
  }

  absl::Status DropNext() override {
    if (::access(next_.c_str(), F_OK) != 0 && errno == ENOENT) return absl::OkStatus();
    EXPUNGE_RETURN_IF_ERROR(Overwrite(next_));
    CrashPoint("keys.next_overwritten");
    if (::unlink(next_.c_str()) != 0) return SystemError(errno, "remove", next_);
    return SyncFolder(FolderOf(path_));
  }

  [[nodiscard]] std::string place() const override { return absl::StrCat("the key file ", path_); }

 private:
  const std::string path_;
  const std::string next_;
};

}  // namespace

std::shared_ptr<KeyKeeper> KeyInFile(std::string path) {
  return std::make_shared<FileKeeper>(std::move(path));
}

}  // namespace expunge::certificate
