// What the log has of a certificate: 128 bytes from which nothing of the certificate can be guessed.
//
//     SHA-256(PAE of the payload) | Ed25519 signature of the PAE, 64 bytes | SHA-256(public key, DER SPKI)
//
// Whoever guesses a payload whole could compare. None can be guessed: its pseudonyms and commitments are made
// with random keys.
#ifndef EXPUNGE_CERTIFICATE_LOG_LEAF_H_
#define EXPUNGE_CERTIFICATE_LOG_LEAF_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/bytes.h"
#include "certificate/envelope.h"

namespace expunge::certificate {

inline constexpr size_t kLogLeafBytes = 128;

struct LogLeaf {
  Digest pae_sha256{};
  std::string signature;  // 64 bytes
  Digest key_sha256{};    // in hexadecimal, it is the key's id
};

// The entry of a payload of type kPayloadType (envelope.h). Cost: O(size of the payload).
// Returns: InvalidArgument unless `signature` has 64 bytes and `key_id` is a PublicKey::KeyId.
[[nodiscard]] absl::StatusOr<std::string> MakeLogLeaf(absl::string_view payload, absl::string_view signature,
                                                      absl::string_view key_id);
// Of a verified certificate. REQUIRES: certificate.reason == kOk.
[[nodiscard]] std::string LogLeafOf(const VerifyResult& certificate);

// nullopt unless `entry` has kLogLeafBytes.
[[nodiscard]] std::optional<LogLeaf> ParseLogLeaf(absl::string_view entry);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_LOG_LEAF_H_
