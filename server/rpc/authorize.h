// The one gate through which every call passes: before its message is looked at, for no tenant yet, and once
// the message has named its tenant.
//
// This version has no identities: whoever may connect may use every tenant. What it holds is the transport
// rule: plain text only from this machine, unless the operator said otherwise. (The listener is bound to the
// loopback by default as well; this check does not rely on it, because names such as "localhost" resolve to
// whatever the machine says.) Administration, on a listener of its own, never has that word
// (admin_address.h).
#ifndef EXPUNGE_SERVER_RPC_AUTHORIZE_H_
#define EXPUNGE_SERVER_RPC_AUTHORIZE_H_

#include <grpcpp/server_context.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace expunge::rpc {

// What a connection says of its peer.
struct Caller {
  std::string peer;        // as gRPC names it
  bool encrypted = false;  // TLS
};

[[nodiscard]] Caller CallerOf(const grpc::ServerContextBase& context);

struct AccessPolicy {
  bool allow_remote_plaintext = false;
};

// Whether `caller` may act for `tenant` (as named in the request, not yet validated; empty: for no tenant).
// Cost: O(1). Threads: any number at once.
// Returns: PermissionDenied (kPlaintextRefused) for plain text from another machine.
[[nodiscard]] absl::Status Authorize(const Caller& caller, absl::string_view tenant,
                                     const AccessPolicy& policy);

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_AUTHORIZE_H_
