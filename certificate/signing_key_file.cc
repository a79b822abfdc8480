// SigningKey::LoadOrCreate: the key file.
//
// A new key is written to a temporary file in the same folder, synced, and given its name in one step that
// never replaces a file. So whatever crashes or races, `path` holds a whole key or does not exist; of two
// processes that create it at once, one wins and both load the same key.
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "certificate/private_pem.h"
#include "certificate/signing_key.h"

namespace expunge::certificate {
namespace {

constexpr size_t kMaxFileBytes = 4096;
constexpr int kAttempts = 3;

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }
  [[nodiscard]] bool ok() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

// Wipes a string that held a private key.
class Wipe {
 public:
  explicit Wipe(std::string* secret) : secret_(secret) {}
  ~Wipe() { OPENSSL_cleanse(secret_->data(), secret_->size()); }
  Wipe(const Wipe&) = delete;
  Wipe& operator=(const Wipe&) = delete;

 private:
  std::string* secret_;
};

absl::Status SystemError(absl::string_view action, const std::string& path, int error) {
  const std::string message =
      absl::StrCat("cannot ", action, " ", path, ": ", std::generic_category().message(error));
  return error == ENOENT || error == ENOTDIR ? absl::NotFoundError(message) : absl::UnavailableError(message);
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status SyncFolder(const std::string& path) {
  const std::string folder = FolderOf(path);
  const File file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.ok() || ::fsync(file.get()) != 0) return SystemError("sync the folder", folder, errno);
  return absl::OkStatus();
}

// Reads at most kMaxFileBytes + 1 bytes into `*contents`, whose space is taken at once, so that no copy of
// the secret stays behind in a smaller buffer.
absl::Status ReadAll(const File& file, const std::string& path, std::string* contents) {
  contents->assign(kMaxFileBytes + 1, '\0');
  size_t size = 0;
  while (size < contents->size()) {
    const ssize_t got = ::read(file.get(), contents->data() + size, contents->size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read", path, errno);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  contents->resize(size);
  return absl::OkStatus();
}

absl::Status WriteAll(const File& file, const std::string& path, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return SystemError("write", path, errno);
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

absl::StatusOr<SigningKey> Load(const File& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return SystemError("examine", path, errno);
  if (!S_ISREG(status.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("the signing key ", path, " is open to others than its owner; run: chmod 600 ", path,
                     " (and replace the key if somebody may have read it)"));
  }
  std::string pem;
  const Wipe wipe(&pem);
  EXPUNGE_RETURN_IF_ERROR(ReadAll(file, path, &pem));
  auto key = SigningKey::FromPem(pem);
  if (!key.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", key.status().message()));
  return key;
}

// Gives `temporary` the name `path` unless that exists. File systems without RENAME_NOREPLACE have link().
int MoveWithoutReplacing(const std::string& temporary, const std::string& path) {
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (::link(temporary.c_str(), path.c_str()) != 0) return errno;
  return ::unlink(temporary.c_str()) == 0 ? 0 : errno;
}

// AlreadyExists if another process was faster.
absl::Status Create(const std::string& path, absl::string_view pem) {
  const std::string temporary = absl::StrCat(path, ".new-", ToHex(AsView(RandomDigest()).substr(0, 8)));
  const File file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.ok()) return SystemError("create", temporary, errno);
  absl::Status status = WriteAll(file, temporary, pem);
  // The mode at creation is subject to the umask.
  if (status.ok() && ::fchmod(file.get(), S_IRUSR | S_IWUSR) != 0) {
    status = SystemError("set the mode of", temporary, errno);
  }
  if (status.ok() && ::fsync(file.get()) != 0) status = SystemError("sync", temporary, errno);
  if (status.ok()) {
    const int error = MoveWithoutReplacing(temporary, path);
    if (error == 0) return SyncFolder(path);
    status = error == EEXIST ? absl::AlreadyExistsError(absl::StrCat(path, " appeared meanwhile"))
                             : SystemError("create", path, error);
  }
  ::unlink(temporary.c_str());
  return status;
}

}  // namespace

absl::StatusOr<SigningKey> SigningKey::LoadOrCreate(const std::string& path) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    // O_NONBLOCK: a FIFO must not hold up the start.
    const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file.ok()) return Load(file, path);
    if (errno != ENOENT) return SystemError("open", path, errno);
    SigningKey key = Generate();
    std::string pem = PrivatePem(key.key_.get());
    const Wipe wipe(&pem);
    const absl::Status created = Create(path, pem);
    if (created.ok()) return key;
    if (!absl::IsAlreadyExists(created)) return created;
  }
  return absl::UnavailableError(
      absl::StrCat(path, " can neither be read nor created; is it a link to a file that does not exist?"));
}

}  // namespace expunge::certificate
