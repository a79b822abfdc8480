// SigningKey::LoadOrCreate: the key file.
//
// CreateDurably never replaces a file. So whatever crashes or races, `path` holds a whole key or does not
// exist; of two processes that create it at once, one wins and both load the same key.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/durable_file.h"
#include "base/secret.h"
#include "base/status_macros.h"
#include "certificate/private_pem.h"
#include "certificate/signing_key.h"

namespace expunge::certificate {
namespace {

constexpr size_t kMaxFileBytes = 4096;
constexpr int kAttempts = 3;

absl::StatusOr<SigningKey> Load(const Descriptor& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return SystemError(errno, "examine", path);
  if (!S_ISREG(status.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("the signing key ", path, " is open to others than its owner; run: chmod 600 ", path,
                     " (and replace the key if somebody may have read it)"));
  }
  SecretBytes pem(kMaxFileBytes + 1);
  const ssize_t size = ReadAt(file.get(), 0, pem.data(), pem.size());
  if (size < 0) return SystemError(errno, "read", path);
  auto key = SigningKey::FromPem(AsView(pem).substr(0, static_cast<size_t>(size)));
  if (!key.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", key.status().message()));
  return key;
}

absl::Status CheckFolder(const std::string& path) {
  const std::string folder = FolderOf(path);
  struct stat status {};
  if (::stat(folder.c_str(), &status) == 0) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("the signing key ", path, " cannot be made: there is no folder ", folder));
}

}  // namespace

absl::StatusOr<SigningKey> SigningKey::LoadExisting(const std::string& path) {
  // O_NONBLOCK: a FIFO must not hold up the start.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.ok()) return Load(file, path);
  if (errno != ENOENT) return SystemError(errno, "open", path);
  return absl::NotFoundError(absl::StrCat("the signing key ", path, " is missing"));
}

absl::StatusOr<SigningKey> SigningKey::LoadOrCreate(const std::string& path) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    absl::StatusOr<SigningKey> existing = LoadExisting(path);
    if (!absl::IsNotFound(existing.status())) return existing;
    EXPUNGE_RETURN_IF_ERROR(CheckFolder(path));
    SigningKey key = Generate();
    std::string pem = PrivatePem(key.key_.get());
    const absl::Cleanup wipe = [&pem] { Wipe(&pem); };
    const absl::Status created = CreateDurably(path, pem);
    if (created.ok()) return key;
    if (!absl::IsAlreadyExists(created)) return created;  // else another process was faster
  }
  return absl::UnavailableError(
      absl::StrCat(path, " can neither be read nor created; is it a link to a file that does not exist?"));
}

}  // namespace expunge::certificate
