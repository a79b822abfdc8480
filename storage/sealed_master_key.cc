#include "storage/sealed_master_key.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

namespace expunge::storage {
namespace {

// magic 8 | version 8 | initialization vector 12 | ciphertext 32 and tag 16 | zeros 20 | SHA-256 of the
// above.
constexpr absl::string_view kMagic = "EXPMASTR";
constexpr uint64_t kVersion = 1;
constexpr size_t kVersionAt = 8;
constexpr size_t kIvAt = 16;
constexpr size_t kSealedAt = 28;
constexpr size_t kZerosAt = 76;
constexpr size_t kSumAt = 96;

std::string Start() {
  std::string start(kMagic);
  AppendU64(kVersion, &start);
  return start;
}

uint64_t VersionOf(absl::string_view file) { return ReadU64(file.substr(kVersionAt)); }

}  // namespace

std::string SealedMasterKeyContext() { return absl::StrCat("expunge sealed master key", Start()); }

std::string EncodeSealedMasterKey(const SealedMasterKey& key) {
  std::string file = absl::StrCat(Start(), key.iv, key.sealed);
  file.resize(kSumAt);
  absl::StrAppend(&file, AsView(Sha256(file)));
  return file;
}

absl::StatusOr<SealedMasterKey> DecodeSealedMasterKey(absl::string_view file, absl::string_view path) {
  const auto damaged = [path] {
    return MakeError(
        Reason::kStorageCorrupt, "",
        absl::StrCat("the sealed master key ", path, " is damaged; restore the file from its copy"));
  };
  if (file.size() >= kMagic.size() && !absl::StartsWith(file, kMagic)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is no master key that a PKCS#11 token has sealed, or its first bytes are damaged"));
  }
  if (file.size() != kSealedMasterKeyBytes) return damaged();
  if (AsView(Sha256(file.substr(0, kSumAt))) != file.substr(kSumAt)) return damaged();
  if (VersionOf(file) > kVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the sealed master key ", path, " has format ",
                                                      VersionOf(file), ", and this program knows format ",
                                                      kVersion, ": use a newer program"));
  }
  const absl::string_view zeros = file.substr(kZerosAt, kSumAt - kZerosAt);
  const bool clear = std::all_of(zeros.begin(), zeros.end(), [](char byte) { return byte == '\0'; });
  if (VersionOf(file) != kVersion || !clear) return damaged();
  return SealedMasterKey{std::string(file.substr(kIvAt, kSealedAt - kIvAt)),
                         std::string(file.substr(kSealedAt, kZerosAt - kSealedAt))};
}

}  // namespace expunge::storage
