// Time-stamps by a third party (RFC 3161), by OpenSSL.
//
// A time-stamping authority (TSA) signs that it saw a SHA-256 at a time: it learns nothing else. The digest
// of a checkpoint covers all of the log up to it, so one time-stamp shows of everything in it that it was
// there by then, whatever the service's own clock said, and whoever has its keys now.
#ifndef EXPUNGE_CERTIFICATE_TIMESTAMP_TIMESTAMP_H_
#define EXPUNGE_CERTIFICATE_TIMESTAMP_TIMESTAMP_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace expunge::certificate {

inline constexpr size_t kMaxTimestampBytes = size_t{1} << 20;

// A TimeStampReq (DER) for SHA-256(message): version 1, a random nonce, certificates wanted.
[[nodiscard]] std::string MakeTimestampQuery(absl::string_view message);

enum class TimestampReason {
  kOk,
  kNotAResponse,  // no TimeStampResp in DER, or too large
  kRefused,       // the authority granted nothing
  kOtherMessage,  // it stamps another digest
  kOtherQuery,    // it answers another query
  kBadCa,         // the certificates given to trust are none, in PEM
  kUntrusted,     // its signature does not verify under a time-stamping certificate of a given CA
};
// Stable, machine-readable: "OK", "NOT_A_RESPONSE", ...; and one sentence for people.
[[nodiscard]] absl::string_view TimestampReasonName(TimestampReason reason);
[[nodiscard]] absl::string_view TimestampReasonText(TimestampReason reason);

struct Timestamp {
  TimestampReason reason = TimestampReason::kNotAResponse;
  absl::Time time;        // of the authority's clock; for kOk, and for what ReadTimestamp accepts
  std::string authority;  // the subject of the certificate that signed, printable ASCII; only if kOk
};

// Whether `response` (TimeStampResp, DER) stamps this message and answers `query`, if that isn't empty.
// Nothing says yet who made it. Returns: kOk, kNotAResponse, kRefused, kOtherMessage or kOtherQuery.
[[nodiscard]] Timestamp ReadTimestamp(absl::string_view message, absl::string_view response,
                                      absl::string_view query);

// The same, and that it is signed by a certificate for time-stamping that leads to one in `ca_pem` (PEM, one
// or more). Certificates count that were valid at the time that is stamped: an authority's expire sooner than
// what it stamped. Whether one was revoked is not asked: that needs a network.
[[nodiscard]] Timestamp VerifyTimestamp(absl::string_view message, absl::string_view response,
                                        absl::string_view ca_pem);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_TIMESTAMP_TIMESTAMP_H_
