// The file in which a master key lies, sealed by a PKCS#11 token. docs/formats/vault.md has it byte by byte.
#ifndef EXPUNGE_STORAGE_SEALED_MASTER_KEY_H_
#define EXPUNGE_STORAGE_SEALED_MASTER_KEY_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace expunge::storage {

inline constexpr size_t kSealedMasterKeyBytes = 128;

// AES-256-GCM: 12 bytes of initialization vector; 32 bytes of ciphertext and 16 of tag.
struct SealedMasterKey {
  std::string iv;
  std::string sealed;
};

// The additional data that the token authenticates: purpose and version.
[[nodiscard]] std::string SealedMasterKeyContext();

[[nodiscard]] std::string EncodeSealedMasterKey(const SealedMasterKey& key);

// `path` is for messages. Returns: InvalidArgument if it is another kind of file; DataLoss (kStorageCorrupt)
// if it is damaged; FailedPrecondition if its format is newer.
[[nodiscard]] absl::StatusOr<SealedMasterKey> DecodeSealedMasterKey(absl::string_view file,
                                                                    absl::string_view path);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_SEALED_MASTER_KEY_H_
