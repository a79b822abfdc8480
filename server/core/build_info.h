// Which software this is; certificates state it.
#ifndef EXPUNGE_SERVER_CORE_BUILD_INFO_H_
#define EXPUNGE_SERVER_CORE_BUILD_INFO_H_

#include "absl/strings/string_view.h"

namespace expunge::core {

// Such as "0.1.0".
[[nodiscard]] absl::string_view SoftwareVersion();
// The commit that was built, 40 hexadecimal digits, and "-dirty" if files differed from it; "unknown" for a
// build from something else than a checkout.
[[nodiscard]] absl::string_view SoftwareCommit();

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_BUILD_INFO_H_
