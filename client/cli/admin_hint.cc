#include "client/cli/admin_hint.h"

#include "base/error.h"
#include "client/cli/failure.h"
#include "client/cpp/status.h"

namespace expunge::cli {

absl::Status WithAdminHint(const absl::Status& status) {
  const auto reason = GetReason(status);
  if (reason == Reason::kOverloaded || reason == Reason::kShuttingDown) {
    return WithHint(status, "wait a moment, then repeat the call");
  }
  if (!reason.has_value() && status.code() == absl::StatusCode::kUnimplemented) {
    return WithHint(status,
                    "check --admin: something answers there, but not the administration of a service");
  }
  if (client::GetOrigin(status) != client::Origin::kTransport) return status;
  if (status.code() == absl::StatusCode::kDeadlineExceeded) {
    return WithHint(status, "repeat the call with a longer --timeout");
  }
  return WithHint(status,
                  "name the socket with --admin unix:DATA-DIR/admin.sock (or EXPUNGE_ADMIN), as the server's "
                  "user or root; the server's log says where it is ('administration on ...')");
}

}  // namespace expunge::cli
