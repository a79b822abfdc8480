// Where administration listens: a Unix socket, or a port of the loopback. Plain text from another machine is
// never accepted there.
//
// The default is the socket `admin.sock` in the data directory, which is its owner's alone (0700): whoever
// cannot enter it cannot call. The socket itself has the mode 0600.
#ifndef EXPUNGE_SERVER_RPC_ADMIN_ADDRESS_H_
#define EXPUNGE_SERVER_RPC_ADMIN_ADDRESS_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace expunge::rpc {

// What fits into sockaddr_un.
inline constexpr size_t kMaxSocketPath = 107;

inline constexpr absl::string_view kNoAdmin = "none";

struct AdminAddress {
  std::string listen;  // as gRPC takes it: "unix:PATH", escaped, or "host:port"
  std::string socket;  // PATH; empty for a port
};

// "unix:PATH", or "host:port" of the loopback. Returns: InvalidArgument for anything else, and for a path of
// more than kMaxSocketPath bytes; the message says what to do.
[[nodiscard]] absl::StatusOr<AdminAddress> ParseAdminAddress(absl::string_view text);

// That of a data directory. Returns: InvalidArgument if its path is too long for a socket.
[[nodiscard]] absl::StatusOr<AdminAddress> DefaultAdminAddress(absl::string_view data_dir);

// Removes the socket that a crashed server left at `path`. Returns: Unavailable if somebody listens on it, or
// there is something else.
[[nodiscard]] absl::Status RemoveStaleSocket(const std::string& path);

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_ADMIN_ADDRESS_H_
