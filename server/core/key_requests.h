// The calls that have to do with keys: ListSigningKeys and RotateSigningKey.
#ifndef EXPUNGE_SERVER_CORE_KEY_REQUESTS_H_
#define EXPUNGE_SERVER_CORE_KEY_REQUESTS_H_

#include "absl/status/statusor.h"
#include "expunge/v1/admin_service.pb.h"
#include "expunge/v1/unlearning_service.pb.h"
#include "server/core/context.h"

namespace expunge::core {

// Cost: O(key sets). Returns: errors of the signer of checkpoints.
absl::StatusOr<v1::ListSigningKeysResponse> ListSigningKeys(const Context& context);

// Returns: kFieldMissing; kKeyNotActive; as RotateKey.
absl::StatusOr<v1::RotateSigningKeyResponse> RotateSigningKey(const Context& context,
                                                              const v1::RotateSigningKeyRequest& request);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_KEY_REQUESTS_H_
