// What helps after a failed call of the administration.
#ifndef EXPUNGE_CLIENT_CLI_ADMIN_HINT_H_
#define EXPUNGE_CLIENT_CLI_ADMIN_HINT_H_

#include "absl/status/status.h"

namespace expunge::cli {

// `status` with a hint, where the administration is at fault, and not the service's own port.
[[nodiscard]] absl::Status WithAdminHint(const absl::Status& status);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_ADMIN_HINT_H_
