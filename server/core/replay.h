// Carrying out again what a deletion ledger reports since a backup (restore.h).
#ifndef EXPUNGE_SERVER_CORE_REPLAY_H_
#define EXPUNGE_SERVER_CORE_REPLAY_H_

#include <vector>

#include "absl/status/status.h"
#include "server/core/context.h"
#include "server/core/restore.h"
#include "storage/ledger_copy.h"

namespace expunge::core {

// One entry, as one durable change. Entries of a tenant must come in the order of its certificates; those
// that the database has already are passed over. Counts into `report`.
// Returns: FailedPrecondition if certificates before the entry's are missing; kStorageCorrupt if a record of
// it does not unseal or parse; as Change::Commit.
[[nodiscard]] absl::Status Replay(const Context& context, const storage::LedgerEntry& entry,
                                  RestoreReport* report);

// Refuses retries of the lost requests among `records`, of a tenant that the backup doesn't know. One that is
// made anew under its name must not get back what was deleted. Returns: errors of the store.
[[nodiscard]] absl::Status RefuseRetriesOfUnknown(const Context& context,
                                                  const std::vector<storage::LedgerRecord>& records);

// Gives every memory an epoch of a new range: the minutes since 1970, or the one after its present range if
// that is higher. Returns: as Change::Commit.
[[nodiscard]] absl::Status BeginEpochs(const Context& context);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_REPLAY_H_
