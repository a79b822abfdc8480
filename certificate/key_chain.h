// The chain of a service's key sets, and what follows from it for a signature.
//
// Trust begins with certificate keys that an auditor has from elsewhere. The chain is whole if each set
// follows the one before (key_set.h); it is trusted if one of its sets is signed by such a key: the sets
// after it are signed by keys that a trusted set calls active, and the sets before it are fixed by hashes.
#ifndef EXPUNGE_CERTIFICATE_KEY_CHAIN_H_
#define EXPUNGE_CERTIFICATE_KEY_CHAIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "certificate/key_set.h"
#include "certificate/signing_key.h"

namespace expunge::certificate {

inline constexpr size_t kMaxKeySets = 2048;
inline constexpr size_t kMaxKeysFileBytes = size_t{64} << 20;

enum class KeyChainReason {
  kOk,
  kNotAKeysFile,    // not {"keySets":[...]} in its one form, or too large
  kBadEnvelope,     // a set's envelope is refused: `envelope` says why
  kBrokenSequence,  // sets are not numbered 1, 2, 3, ..., or one doesn't have the hash of the one before
  kWrongSigner,     // a set is not signed by the key that was active before it
  kContradiction,   // a set takes back what the one before says of a key or of the time
  kUnpinned,        // no set is signed by one of the given keys
};
// Stable, machine-readable: "OK", "BROKEN_SEQUENCE", ...; and one sentence for people.
[[nodiscard]] absl::string_view KeyChainReasonName(KeyChainReason reason);
[[nodiscard]] absl::string_view KeyChainReasonText(KeyChainReason reason);

struct KeyChain {
  KeyChainReason reason = KeyChainReason::kNotAKeysFile;
  size_t at = 0;                              // the set that is refused, from 0
  VerifyReason envelope = VerifyReason::kOk;  // of kBadEnvelope
  std::vector<KeySet> sets;                   // all of them; only if kOk
};

// The text of `keys.json`: the envelopes of all sets, in order.
[[nodiscard]] std::string KeysFile(absl::Span<const std::string> envelopes);

// Never crashes, whatever the bytes. Cost: O(size), two signature checks a set.
[[nodiscard]] KeyChain VerifyKeysFile(absl::string_view text, absl::Span<const PublicKey> pinned);

// Whether `next` may follow `set`, whose payload has this hash.
[[nodiscard]] KeyChainReason CheckSuccessor(const KeySet& set, const Digest& payload_sha256,
                                            const KeySet& next);

enum class KeyWindowReason {
  kOk,
  kUnlistedKey,  // the set has no such key
  kWrongUse,     // the key is for something else
  kBeforeKey,    // signed, by what it says of itself, before the key's time
  kAfterKey,     // or after it
  kBeyondEnd,    // in the log at, or beyond, the place where the key had stopped signing
};
[[nodiscard]] absl::string_view KeyWindowReasonName(KeyWindowReason reason);
[[nodiscard]] absl::string_view KeyWindowReasonText(KeyWindowReason reason);

// Whether the key may have signed a certificate that says it was issued then, and has this place in the log;
// nullopt: not known, and then not checked. `set`: the newest one that is trusted.
[[nodiscard]] KeyWindowReason CheckCertificateKey(const KeySet& set, absl::string_view key_id,
                                                  absl::Time issued, std::optional<uint64_t> log_index);
// Whether the key may have signed a checkpoint of this size.
[[nodiscard]] KeyWindowReason CheckCheckpointKey(const KeySet& set, absl::string_view key_id,
                                                 uint64_t log_size);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_KEY_CHAIN_H_
