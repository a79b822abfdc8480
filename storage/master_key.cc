#include "storage/master_key.h"

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/durable_file.h"
#include "base/status_macros.h"
#include "storage/private_file.h"

namespace expunge::storage {
namespace {

constexpr size_t kFileBytes = 2 * SecretKey::kBytes + 1;
constexpr int kAttempts = 3;

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

absl::Status Missing(const std::string& path) {
  const bool on_token = ::access(absl::StrCat(path, kSealedMasterKeySuffix).c_str(), F_OK) == 0;
  return absl::NotFoundError(absl::StrCat(
      "the master key ", path, " is missing: without it the data cannot be read; ",
      on_token ? "beside it lies one that is sealed by a PKCS#11 token: name the token (--master-key-module)"
               : "put it back"));
}

absl::StatusOr<SecretKey> Parse(const std::string& path, absl::string_view text) {
  std::optional<SecretKey> key = Decode(text);
  if (key.has_value()) return *std::move(key);
  return absl::InvalidArgumentError(absl::StrCat(
      "the master key ", path,
      " is not 64 lower-case hexadecimal digits and a line feed; restore the file from its copy"));
}

class FileProvider : public MasterKeyProvider {
 public:
  explicit FileProvider(std::string path) : path_(std::move(path)) {}
  absl::StatusOr<SecretKey> Load(bool may_create) override { return LoadMasterKey(path_, may_create); }
  [[nodiscard]] std::string custody() const override { return "a master key from a file"; }

 private:
  const std::string path_;
};

}  // namespace

absl::StatusOr<SecretKey> LoadMasterKey(const std::string& path, bool may_create) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const absl::StatusOr<SecretBytes> text = ReadPrivateFile("the master key", path, kFileBytes);
    if (text.ok()) return Parse(path, AsView(*text));
    if (!absl::IsNotFound(text.status())) return text.status();
    if (!may_create) return Missing(path);
    SecretKey key = SecretKey::Random();
    const absl::Status created = CreateDurably(path, AsView(Encode(key)));
    if (created.ok()) return key;
    if (!absl::IsAlreadyExists(created)) return created;  // else another process was faster
  }
  return SystemError(ELOOP, "read or make", path);
}

std::unique_ptr<MasterKeyProvider> MasterKeyInFile(std::string path) {
  return std::make_unique<FileProvider>(std::move(path));
}

}  // namespace expunge::storage
