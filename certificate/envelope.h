// The DSSE v1 envelope (https://github.com/secure-systems-lab/dsse), JSON, with one Ed25519 signature, and
// its verification.
//
//     {"payload":"<base64>","payloadType":"application/vnd.in-toto+json","signatures":[{"keyid":"...","sig":"<base64>"}]}
//     signed bytes: PAE = "DSSEv1 " len(type) " " type " " len(payload) " " payload        lengths in decimal
//
// Verification fails closed: only bytes that are exactly the envelope that Seal makes of a valid payload
// pass, so that a certificate has one form and any flipped bit is refused.
#ifndef EXPUNGE_CERTIFICATE_ENVELOPE_H_
#define EXPUNGE_CERTIFICATE_ENVELOPE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "certificate/signing_key.h"

namespace expunge::certificate {

inline constexpr absl::string_view kPayloadType = "application/vnd.in-toto+json";
inline constexpr size_t kMaxEnvelopeBytes = size_t{64} << 20;

// The pre-authentication encoding: the bytes that are signed.
[[nodiscard]] std::string PreAuthEncoding(absl::string_view payload_type, absl::string_view payload);

// The envelope of `payload` with this signature. REQUIRES: `key_id` needs no escape in JSON.
[[nodiscard]] std::string MakeEnvelope(absl::string_view payload, absl::string_view key_id,
                                       absl::string_view signature);
// The envelope of `payload`, signed. The same payload and key always give the same bytes.
[[nodiscard]] std::string Seal(absl::string_view payload, const SigningKey& key);

enum class VerifyReason {
  kOk,
  kEmpty,          // no bytes
  kTooLarge,       // more than kMaxEnvelopeBytes
  kNotJson,        // not JSON: truncated, or a foreign file
  kNotAnEnvelope,  // JSON, but not of an envelope's shape, or nested too deeply
  kWrongPayloadType,
  kBadBase64,
  kSignatureCount,  // not exactly one signature
  kUnknownKey,      // signed by another key than those given
  kBadSignature,
  kNotCanonical,  // valid, but not byte for byte in the one form
  kWrongStatementType,
  kWrongPredicateType,
  kMalformedStatement,  // a field is absent, unknown, not in its form, or contradicts another
};

// Stable, machine-readable: "OK", "BAD_SIGNATURE", ...
[[nodiscard]] absl::string_view VerifyReasonName(VerifyReason reason);
// One sentence for people.
[[nodiscard]] absl::string_view VerifyReasonText(VerifyReason reason);

struct VerifyResult {
  VerifyReason reason = VerifyReason::kEmpty;
  std::string payload;  // only if kOk
  std::string key_id;   // of the key that verified; only if kOk
  // 64 bytes, of PreAuthEncoding(kPayloadType, payload), for a check by other tools; only if kOk.
  std::string signature;
};

// Never crashes, whatever the bytes; the first reason in the order of the enum. Cost: O(size), one signature
// check.
[[nodiscard]] VerifyResult VerifyEnvelope(absl::string_view envelope, absl::Span<const PublicKey> keys);

// The same for statements of another type: `check` says in place of CheckPayload whether the payload has its
// one form.
using PayloadCheck = VerifyReason (*)(absl::string_view payload);
[[nodiscard]] VerifyResult VerifyEnvelopeOf(absl::string_view envelope, absl::Span<const PublicKey> keys,
                                            PayloadCheck check);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_ENVELOPE_H_
