// Carrying out again what a deletion ledger reports since a backup (restore.h).
#ifndef EXPUNGE_SERVER_CORE_REPLAY_H_
#define EXPUNGE_SERVER_CORE_REPLAY_H_

#include <vector>

#include "absl/status/status.h"
#include "server/core/context.h"
#include "server/core/restore.h"
#include "storage/ledger_copy.h"

namespace expunge::core {

// One entry, as one durable change. Entries must come in the order of the log; those that the database has
// already are passed over. Counts into `report`.
// Returns: FailedPrecondition if certificates or leaves before the entry's are missing; kStorageCorrupt if a
// record of it does not unseal or parse, or the log has other leaves; as Change::Commit.
[[nodiscard]] absl::Status Replay(const Context& context, const storage::LedgerEntry& entry,
                                  RestoreReport* report);

// Takes up what can be read of an entry of a tenant that the backup doesn't know: its leaves in the log; key
// sets; and it refuses retries of its lost requests, as one that is made anew under the tenant's name must
// not get back what was deleted. Returns: as Replay; errors of the store.
[[nodiscard]] absl::Status TakeUpPublic(const Context& context, const storage::LedgerEntry& entry);

// Gives every memory an epoch of a new range: the minutes since 1970, or the one after its present range if
// that is higher. Returns: as Change::Commit.
[[nodiscard]] absl::Status BeginEpochs(const Context& context);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_REPLAY_H_
