// From the server's options to who keeps the keys that sign.
#ifndef EXPUNGE_SERVER_RPC_SIGNING_KEYS_H_
#define EXPUNGE_SERVER_RPC_SIGNING_KEYS_H_

#include "absl/status/statusor.h"
#include "server/core/keys.h"
#include "server/rpc/server.h"

namespace expunge::rpc {

// In files, or in a token, which is logged in to. No key is looked at or made yet.
// Returns: InvalidArgument if the options of a token are incomplete, or given without its module; as
// storage::SigningKeysOnToken.
[[nodiscard]] absl::StatusOr<core::SigningKeys> SigningKeysFor(const ServerOptions& options);

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_SIGNING_KEYS_H_
