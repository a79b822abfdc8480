#include "storage/master_key.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/durable_file.h"
#include "base/status_macros.h"

namespace expunge::storage {
namespace {

constexpr size_t kFileBytes = 2 * SecretKey::kBytes + 1;

absl::string_view Digits() { return "0123456789abcdef"; }

SecretBytes Encode(const SecretKey& key) {
  SecretBytes text;
  text.reserve(kFileBytes);
  for (const char byte : key.view()) {
    const auto value = static_cast<unsigned char>(byte);
    text.push_back(Digits()[value >> 4]);
    text.push_back(Digits()[value & 15]);
  }
  text.push_back('\n');
  return text;
}

std::optional<SecretKey> Decode(absl::string_view text) {
  if (text.size() != kFileBytes || text.back() != '\n') return std::nullopt;
  SecretKey key;
  for (size_t i = 0; i < SecretKey::kBytes; ++i) {
    const size_t high = Digits().find(text[2 * i]);
    const size_t low = Digits().find(text[2 * i + 1]);
    if (high == absl::string_view::npos || low == absl::string_view::npos) return std::nullopt;
    key.data()[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return key;
}

absl::Status CheckFile(const Descriptor& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return SystemError(errno, "examine", path);
  if (!S_ISREG(status.st_mode))
    return absl::PermissionDeniedError(absl::StrCat("the master key ", path, " is not a regular file"));
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("the master key ", path, " belongs to another user than this process's, or root"));
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("the master key ", path, " is open to others than its owner; run: chmod 600 ", path,
                     " (and if somebody may have read it, move the data under another master key)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<SecretKey> Load(const Descriptor& file, const std::string& path) {
  EXPUNGE_RETURN_IF_ERROR(CheckFile(file, path));
  SecretBytes text(kFileBytes + 1);
  const ssize_t size = ReadAt(file.get(), 0, text.data(), text.size());
  if (size < 0) return SystemError(errno, "read", path);
  std::optional<SecretKey> key = Decode(AsView(text).substr(0, static_cast<size_t>(size)));
  if (key.has_value()) return *std::move(key);
  return absl::InvalidArgumentError(absl::StrCat(
      "the master key ", path,
      " is not 64 lower-case hexadecimal digits and a line feed; restore the file from its copy"));
}

}  // namespace

absl::StatusOr<SecretKey> LoadMasterKey(const std::string& path, bool may_create) {
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    // O_NONBLOCK: a FIFO must not hold up the start.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file.ok()) return Load(file, path);
    if (errno != ENOENT) return SystemError(errno, "open", path);
    if (!may_create) {
      return absl::NotFoundError(absl::StrCat(
          "the master key ", path, " is missing: without it the data cannot be read; put it back"));
    }
    SecretKey key = SecretKey::Random();
    const absl::Status created = CreateDurably(path, AsView(Encode(key)));
    if (created.ok()) return key;
    if (!absl::IsAlreadyExists(created)) return created;  // else another process was faster
  }
  return SystemError(ELOOP, "read or make", path);
}

}  // namespace expunge::storage
