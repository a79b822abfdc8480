// Network addresses: which of them stay on this machine, and why one cannot be listened on.
#ifndef EXPUNGE_SERVER_RPC_ADDRESS_H_
#define EXPUNGE_SERVER_RPC_ADDRESS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace expunge::rpc {

struct Address {
  std::string host;  // without brackets
  uint16_t port = 0;
};

// Splits "host:port" or "[ipv6]:port". InvalidArgument for anything else.
[[nodiscard]] absl::StatusOr<Address> ParseAddress(absl::string_view text);

// True for 127.0.0.0/8, ::1, those mapped into IPv6, and the name "localhost". Resolves nothing.
[[nodiscard]] bool IsLoopbackHost(absl::string_view host);

// The same for the peer of a call as gRPC names it ("ipv4:127.0.0.1:5000", "ipv6:[::1]:5000", also
// percent-encoded; "unix:..."). False for what it does not know.
[[nodiscard]] bool IsLoopbackPeer(absl::string_view peer);

// One sentence: why `address`, the value of `option`, cannot be bound just now, and what to do. Empty if it
// can be. Tries to bind it.
[[nodiscard]] std::string ExplainBindFailure(const Address& address, absl::string_view option = "--address");

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_ADDRESS_H_
