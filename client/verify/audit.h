// All checks of one call of expunge-verify.
#ifndef EXPUNGE_CLIENT_VERIFY_AUDIT_H_
#define EXPUNGE_CLIENT_VERIFY_AUDIT_H_

#include "client/verify/inputs.h"
#include "client/verify/report.h"

namespace expunge::verify {

// What was given besides certificates first, then every certificate alone, then together. Never fails: what
// is wrong is in the report. Cost: that of the bundle's solution, if one was given; else O(bytes).
[[nodiscard]] Report Audit(const Inputs& inputs);

}  // namespace expunge::verify

#endif  // EXPUNGE_CLIENT_VERIFY_AUDIT_H_
