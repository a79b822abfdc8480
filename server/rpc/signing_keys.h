// From the server's options to the keys that sign.
#ifndef EXPUNGE_SERVER_RPC_SIGNING_KEYS_H_
#define EXPUNGE_SERVER_RPC_SIGNING_KEYS_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/core/keys.h"
#include "server/rpc/server.h"

namespace expunge::rpc {

// With what an empty option stands for.
[[nodiscard]] std::string CertificateKeyFile(const ServerOptions& options);
[[nodiscard]] std::string CheckpointKeyFile(const ServerOptions& options);

// Returns: as certificate::SigningKey::LoadOrCreate; as LoadExisting.
[[nodiscard]] absl::StatusOr<core::SigningKeys> LoadOrCreateKeys(const ServerOptions& options);
[[nodiscard]] absl::StatusOr<core::SigningKeys> LoadExistingKeys(const ServerOptions& options);

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_SIGNING_KEYS_H_
