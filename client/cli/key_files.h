// The public keys of a service as files that an auditor keeps.
#ifndef EXPUNGE_CLIENT_CLI_KEY_FILES_H_
#define EXPUNGE_CLIENT_CLI_KEY_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "certificate/key_set.h"
#include "certificate/signing_key.h"
#include "expunge/v1/unlearning_service.pb.h"

namespace expunge::cli {

struct KeyFile {
  std::string name;
  std::string bytes;
};

struct KeyFiles {
  certificate::KeySet newest;
  std::vector<KeyFile> files;
};

// keys.json (all key sets), jwks.json, NAME.pem of every key, log.vkey of the key that signs checkpoints now,
// and NAME.vkey of the ones before; NAME is the use and the first digits of the key's id.
// `pinned`: certificate keys that the caller trusts; none: the first key of the service itself.
// Returns: a Refusal with the reason if the key sets do not verify.
[[nodiscard]] absl::StatusOr<KeyFiles> MakeKeyFiles(const v1::ListSigningKeysResponse& listed,
                                                    absl::Span<const certificate::PublicKey> pinned);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_KEY_FILES_H_
