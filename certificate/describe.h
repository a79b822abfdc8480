// A verified certificate in plain words.
#ifndef EXPUNGE_CERTIFICATE_DESCRIBE_H_
#define EXPUNGE_CERTIFICATE_DESCRIBE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace expunge::certificate {

// Some lines of text for a person: what was removed, when, on what basis, what is proven, what is not
// claimed. Returns: InvalidArgument if `payload` is not a statement of ours (certificate/envelope.h verifies
// first).
[[nodiscard]] absl::StatusOr<std::string> DescribePayload(absl::string_view payload);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_DESCRIBE_H_
