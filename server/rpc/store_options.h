// From the server's options to where its data is, and who has the master key.
#ifndef EXPUNGE_SERVER_RPC_STORE_OPTIONS_H_
#define EXPUNGE_SERVER_RPC_STORE_OPTIONS_H_

#include "absl/status/statusor.h"
#include "server/rpc/server.h"
#include "storage/sealed_store.h"

namespace expunge::rpc {

// Returns: InvalidArgument if the options of a token are incomplete, or given without its module.
[[nodiscard]] absl::StatusOr<storage::SealedStoreOptions> StoreOptionsFor(const ServerOptions& options);

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_STORE_OPTIONS_H_
