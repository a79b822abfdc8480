// The key set: a signed statement of every key that a service ever signed with, and when.
//
//     payload: an in-toto statement of predicate type urn:expunge:keys:v1      docs/formats/keys.md
//     envelope: as a certificate's (envelope.h), signed by a certificate key
//
// Sets form a chain: each has a sequence and the SHA-256 of the payload before. Set n is signed by the
// certificate key that set n-1 calls active, set 1 by its own. A set lists all keys of the set before, in the
// same order, and then new ones, so that the newest one tells all. Exactly one key of each use is active.
#ifndef EXPUNGE_CERTIFICATE_KEY_SET_H_
#define EXPUNGE_CERTIFICATE_KEY_SET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/bytes.h"
#include "certificate/envelope.h"
#include "certificate/signing_key.h"

namespace expunge::certificate {

inline constexpr absl::string_view kKeySetPredicateType = "urn:expunge:keys:v1";
// In one set. A file of all sets grows with the square of it.
inline constexpr size_t kMaxKeys = 256;

enum class KeyUse {
  kCertificate,  // certificates and key sets
  kCheckpoint,   // checkpoints of the log
};
// "certificate", "checkpoint".
[[nodiscard]] absl::string_view KeyUseName(KeyUse use);

struct PublishedKey {
  // The end of a key's time: it signed nothing after `not_after`. A certificate key signed no certificate
  // with a log index of `end_log_size` or beyond; a checkpoint key, no checkpoint of a larger size.
  struct End {
    absl::Time not_after;
    uint64_t end_log_size = 0;
    friend bool operator==(const End&, const End&) = default;
  };

  KeyUse use = KeyUse::kCertificate;
  std::string key_id;      // PublicKey::KeyId
  std::string public_key;  // PublicKey::Raw
  std::string custody;     // Signer::custody
  absl::Time not_before;   // whole seconds, as all times here
  std::optional<End> end;  // nullopt: active

  [[nodiscard]] bool active() const { return !end.has_value(); }
  friend bool operator==(const PublishedKey&, const PublishedKey&) = default;
};

struct KeySet {
  std::string software_version;
  std::string software_commit;
  absl::Time issued;
  uint64_t sequence = 0;
  Digest previous_payload_sha256{};
  std::string log_origin;
  std::vector<PublishedKey> keys;

  // REQUIRES: there is an active key of this use, as in each set that was read.
  [[nodiscard]] const PublishedKey& Active(KeyUse use) const;
  // nullptr if there is none of this id.
  [[nodiscard]] const PublishedKey* Find(absl::string_view key_id) const;
};

// The entry of a key from now on.
[[nodiscard]] PublishedKey Publish(KeyUse use, const PublicKey& key, absl::string_view custody,
                                   absl::Time not_before);
// The key itself. REQUIRES: the entry is one that was read, or that Publish made.
[[nodiscard]] PublicKey KeyOf(const PublishedKey& entry);

// The one form of a set. The same set always gives the same bytes. They may fail CheckKeySetPayload if the
// set contradicts itself.
[[nodiscard]] std::string EncodeKeySet(const KeySet& set);

// Whether `payload` is a key set in its one form: every field present and of its form, none unknown, keys
// that agree with their ids, one active key of each use, and no window that ends before it begins.
// Cost: O(size). Returns: kOk, kNotCanonical, kWrongStatementType, kWrongPredicateType, kMalformedStatement.
[[nodiscard]] VerifyReason CheckKeySetPayload(absl::string_view payload);

// Returns: InvalidArgument, with the reason of CheckKeySetPayload, if that refuses `payload`.
[[nodiscard]] absl::StatusOr<KeySet> ReadKeySet(absl::string_view payload);

// Whether a name can stand in a checkpoint (C2SP signed-note): 1 to 255 bytes of printable ASCII without
// blanks and '+'.
[[nodiscard]] bool IsLogOrigin(absl::string_view text);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_KEY_SET_H_
