// Restoring a backup: the copy, and then every deletion since, carried out again, before anything is served.
//
// The deletions since come from a copy of the ledger (storage/ledger_copy.h), or from the database that the
// backup replaces, if it can still be read. Each is one change: its tokens go, with their keys; the memory's
// state is solved anew; its certificates are those that were issued then, in their places of the chain. At
// the end every memory's epoch begins a new range of 2^32, by the time of the restore, so that no number
// names two states; and the files are rewritten, so that none of the restored ones holds what was deleted.
//
// What was added since the backup is lost. A retry of an Add that brought what was deleted since is refused
// (kRequestLost).
#ifndef EXPUNGE_SERVER_CORE_RESTORE_H_
#define EXPUNGE_SERVER_CORE_RESTORE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "server/core/keys.h"
#include "storage/backup.h"
#include "storage/sealed_store.h"

namespace expunge::core {

struct RestoreOptions {
  storage::BackupPlaces backup;
  storage::SealedStoreOptions to;
  // Where deletions since the backup are found, one of the two; both empty: nowhere, so that what was deleted
  // since the backup comes back.
  std::string ledger_copy_file;
  std::string replaced_database;  // the directory of a database
  // Told what begins; may be empty.
  std::function<void(absl::string_view step)> on_step;
};

struct RestoreReport {
  storage::BackupSummary backup;
  uint64_t certificates = 0;     // issued since the backup, and in their places again
  uint64_t deletions = 0;        // carried out again
  uint64_t deleted_tokens = 0;   // in the backup, and gone now; those of whole memories, too
  uint64_t skipped_entries = 0;  // of tenants that the backup doesn't know: nothing of theirs is in it
};

// Restores into an empty place, and leaves a directory that may be served; after a crash or an error it may
// not, and the call is to be repeated. Cost: the backup is read twice and written once; one solve a memory;
// one step for each deletion; the database is rewritten once.
// Returns: as BeginRestore; as LedgerCopy::Open; FailedPrecondition if the ledger begins after the backup, or
// ends before it, so that deletions are missing, or is of another store or another history; DataLoss
// (kStorageCorrupt) if the backup, or the ledger, contradicts itself.
[[nodiscard]] absl::StatusOr<RestoreReport> Restore(const RestoreOptions& options, SigningKeys keys,
                                                    const Clock& clock);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_RESTORE_H_
