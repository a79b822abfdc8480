// Start-up: from the store to a Context that may serve.
//
// Nothing is believed. Every memory's record must sit under the pseudonym that follows from it, every token
// under its handle, with the commitment that follows from its content; the digests are computed again from
// tokens and state; and, unless told otherwise, the state is solved again from nothing and must be the same
// bits. Anything else refuses to start.
#ifndef EXPUNGE_SERVER_CORE_RECOVERY_H_
#define EXPUNGE_SERVER_CORE_RECOVERY_H_

#include "absl/status/status.h"
#include "server/core/context.h"

namespace expunge::core {

// Those of a backup that is being restored may not name the present keys yet: then nothing is compared.
enum class KeySets { kAreComplete, kMayBeOld };

// Fills `context` from its store, which it prepares if it is new. Cost: one solve a memory, or one pass.
// Returns: DataLoss (kStorageCorrupt), naming the memory by its pseudonym; as KeyRing::Load; errors of
// the store.
[[nodiscard]] absl::Status Recover(Context* context, KeySets key_sets = KeySets::kAreComplete);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_RECOVERY_H_
