// The file by which scripts learn which port was picked.
#ifndef EXPUNGE_SERVER_RPC_PORT_FILE_H_
#define EXPUNGE_SERVER_RPC_PORT_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace expunge::rpc {

// Writes "<port>\n" to `path` so that a reader sees all of it or no such file; mode 0600. Replaces an
// existing file. Returns: Unavailable, with what to do.
[[nodiscard]] absl::Status WritePortFile(const std::string& path, int port);

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_PORT_FILE_H_
