// The full schema of a payload.
#ifndef EXPUNGE_CERTIFICATE_CHECK_PAYLOAD_H_
#define EXPUNGE_CERTIFICATE_CHECK_PAYLOAD_H_

#include "absl/strings/string_view.h"
#include "certificate/envelope.h"

namespace expunge::certificate {

// Whether `payload` is a statement of ours in its one form: every field present and of its form, none
// unknown, kinds and counts consistent with each other. Independent of EncodePayload, so that a service can
// check what it is about to sign. Cost: O(size).
// Returns: kOk, kNotCanonical, kWrongStatementType, kWrongPredicateType or kMalformedStatement.
[[nodiscard]] VerifyReason CheckPayload(absl::string_view payload);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_CHECK_PAYLOAD_H_
