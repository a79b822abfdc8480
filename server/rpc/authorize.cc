#include "server/rpc/authorize.h"

#include <grpc/grpc_security_constants.h>

#include "base/error.h"
#include "server/rpc/address.h"

namespace expunge::rpc {

Caller CallerOf(const grpc::ServerContextBase& context) {
  Caller caller{context.peer(), false};
  const auto auth = context.auth_context();
  if (auth == nullptr) return caller;
  for (const auto& type : auth->FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME)) {
    if (type == GRPC_TLS_TRANSPORT_SECURITY_TYPE || type == GRPC_SSL_TRANSPORT_SECURITY_TYPE)
      caller.encrypted = true;
  }
  return caller;
}

absl::Status Authorize(const Caller& caller, absl::string_view /*tenant*/, const AccessPolicy& policy) {
  if (caller.encrypted || policy.allow_remote_plaintext || IsLoopbackPeer(caller.peer))
    return absl::OkStatus();
  return MakeError(
      Reason::kPlaintextRefused, "",
      "plain text is accepted only from the server's own machine; use a tunnel, or start the server with "
      "--allow-remote-plaintext on a network that you trust");
}

}  // namespace expunge::rpc
