#include "server/core/key_requests.h"

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/status_macros.h"
#include "server/core/key_rotation.h"
#include "server/core/key_sets.h"
#include "server/core/keys.h"
#include "server/core/times.h"

namespace expunge::core {
namespace {

using certificate::KeyUse;
using certificate::PublishedKey;

v1::SigningKey Describe(const PublishedKey& key) {
  v1::SigningKey described;
  described.set_key_id(key.key_id);
  described.set_algorithm("Ed25519");
  described.set_public_key_pem(KeyOf(key).ToPem());
  described.set_use(key.use == KeyUse::kCertificate ? v1::KEY_USE_CERTIFICATE : v1::KEY_USE_CHECKPOINT);
  described.set_custody(key.custody);
  *described.mutable_create_time() = TimestampProto(key.not_before);
  if (key.active()) return described;
  *described.mutable_retire_time() = TimestampProto(key.end->not_after);
  described.set_end_log_size(key.end->end_log_size);
  return described;
}

std::optional<KeyUse> UseOf(v1::KeyUse use) {
  switch (use) {
    case v1::KEY_USE_CERTIFICATE:
      return KeyUse::kCertificate;
    case v1::KEY_USE_CHECKPOINT:
      return KeyUse::kCheckpoint;
    default:
      return std::nullopt;
  }
}

}  // namespace

absl::StatusOr<v1::ListSigningKeysResponse> ListSigningKeys(const Context& context) {
  const std::vector<StoredKeySet> sets = context.keys->sets();
  v1::ListSigningKeysResponse response;
  for (const PublishedKey& key : sets.back().set.keys) *response.add_keys() = Describe(key);
  for (const StoredKeySet& stored : sets) {
    response.add_key_sets(EnvelopeOf(stored.record));
    EXPUNGE_ASSIGN_OR_RETURN(*response.add_log_proofs(), context.log->Proof(stored.record.log_index()));
  }
  response.set_log_origin(sets.back().set.log_origin);
  return response;
}

absl::StatusOr<v1::RotateSigningKeyResponse> RotateSigningKey(const Context& context,
                                                              const v1::RotateSigningKeyRequest& request) {
  const std::optional<KeyUse> use = UseOf(request.use());
  if (!use.has_value()) return MakeError(Reason::kFieldMissing, "use", "name what the key signs");
  if (request.key_id().empty()) {
    return MakeError(Reason::kFieldMissing, "key_id", "name the key that is to be replaced");
  }
  EXPUNGE_RETURN_IF_ERROR(RotateKey(context, *use, request.key_id()));
  v1::RotateSigningKeyResponse response;
  *response.mutable_key() = Describe(context.keys->sets().back().set.Active(*use));
  return response;
}

}  // namespace expunge::core
