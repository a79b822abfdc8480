// Sealing: XChaCha20-Poly1305 (IETF construction, libsodium), a random 24-byte nonce each time.
//
//   sealed = nonce (24) | ciphertext (size of the plaintext) | tag (16)
// Under a random key of 256 bits and random nonces of 192 bits, no number of records that a disk can hold
// makes a repeated nonce likely (2^-97 after 2^48 records under one key).
#ifndef EXPUNGE_STORAGE_SEAL_H_
#define EXPUNGE_STORAGE_SEAL_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/secret.h"

namespace expunge::storage {

inline constexpr size_t kSealOverhead = 40;

// `associated` is bound to the ciphertext and not contained in it. Cost: one pass; about 2 us a KiB.
[[nodiscard]] std::string Seal(const SecretKey& key, absl::string_view associated,
                               absl::string_view plaintext);

// nullopt unless exactly these bytes were sealed under this key with this associated data.
[[nodiscard]] std::optional<SecretBytes> Unseal(const SecretKey& key, absl::string_view associated,
                                                absl::string_view sealed);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_SEAL_H_
