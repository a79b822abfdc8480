// Key sets that the service makes: the first one, one after each rotation, and one under a new log.
//
// A rotation, step by step; a crash between any two leaves the old key active, or the new one, and nothing in
// between (KeyRing::Load).
//     1. the next key is made and is durable, beside the active one;
//     2. one synced batch has the new set, signed by the certificate key that was active, and its leaf in the
//        log; of a new certificate key there is a second set, which that key signs: so every certificate key
//        has signed a set, by which an auditor who knows that key alone can trust the chain;
//     3. in memory the old key is retired and the new one takes over, before anything is signed over the
//        new leaves;
//     4. the old private key is destroyed, and the new one gets its place.
#ifndef EXPUNGE_SERVER_CORE_KEY_ROTATION_H_
#define EXPUNGE_SERVER_CORE_KEY_ROTATION_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "certificate/key_set.h"
#include "server/core/context.h"

namespace expunge::core {

// At start-up, once log and keys are loaded: checks that every set has its leaf in the log, and makes the
// first set of a new store, or one that names the log anew after a restore.
// Returns: kStorageCorrupt; errors of the store and of the signer.
[[nodiscard]] absl::Status PublishKeys(const Context& context);

// After a restore from a backup whose ledger is lost: if the present keys are not those that the newest set
// has in use, begins a new chain with the present ones and all that are known, each of which has ended. The
// sets before are dropped. Returns: FailedPrecondition if a present key is a former one; as PublishKeys.
[[nodiscard]] absl::Status BeginKeysAnew(const Context& context);

// Replaces the key of this use, which must be `key_id`. Returns: kKeyNotActive; kKeysFull; kStorageFailed,
// also if the rotation is durable and the old key could not be destroyed: then the message says so, and the
// next start does it; errors of keeper, store and signers, before anything has changed. Threads: one rotation
// at a time, the others wait.
[[nodiscard]] absl::Status RotateKey(const Context& context, certificate::KeyUse use,
                                     absl::string_view key_id);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_KEY_ROTATION_H_
