// Backups: the database and the vault as of one moment, each a directory of its own, for two different
// places.
//
// A half is a directory (mode 0700) with its files and a manifest, `backup.json`, that is written last: what
// has no manifest is no backup. The halves carry the same random id; neither opens a record without the
// other, and the two together not without the master key, which is in none (docs/formats/backup.md).
//
// A backup undoes deletions: it has what was deleted after it was made, with the keys. Restoring therefore is
// not finished with the copy: the deletions since must be carried out again first (server/core/restore.h).
// Until FinishRestore a marker in the database's directory keeps every other opening out.
#ifndef EXPUNGE_STORAGE_BACKUP_H_
#define EXPUNGE_STORAGE_BACKUP_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/sealed_store.h"

namespace expunge::storage {

// Where the halves are, or are to be.
struct BackupPlaces {
  std::string database;
  std::string vault;
};

// What a pair of halves says of itself.
struct BackupSummary {
  std::string id;  // 32 hexadecimal digits
  absl::Time created;
  uint64_t sequence = 0;  // Store::sequence() at that moment
  uint64_t files = 0;
  uint64_t bytes = 0;
};

// Makes a backup while the store is in use: changes wait only while the database's files are linked and the
// vault's file is read; reads never. Both places must not exist yet; they are made, in directories that
// exist, and everything in them is synced before the call returns. After an error nothing is left at either
// place; a crash may leave directories without a manifest there.
// Cost: the database is flushed, read twice and written once; the vault's file is in memory meanwhile; byte
// erasures wait.
// Returns: AlreadyExists if there is anything at a place; InvalidArgument if a place is empty, or within the
// other or the store's own directories; kStorageFailed, also before anything is made if there is too little
// space; DataLoss as Store::Get.
[[nodiscard]] absl::StatusOr<BackupSummary> BackUp(SealedStore& store, const BackupPlaces& places,
                                                   absl::Time now);

// Reads both halves whole and compares every size and SHA-256. Returns: NotFound if a half or its manifest is
// missing; DataLoss (kStorageCorrupt), naming half and file, for damage; FailedPrecondition if the halves are
// of two backups, or of another format version.
[[nodiscard]] absl::StatusOr<BackupSummary> VerifyBackup(const BackupPlaces& places);

// Verifies the backup and copies it to where `to` says, behind the marker. `to.directory` and the vault's
// directory must not exist, be empty, or hold an interrupted restore, which is removed first.
// Returns: as VerifyBackup; errors of LoadMasterKey and KeyVault::Open, so that another master key is noticed
// before anything is written; AlreadyExists if there is something else at the destination;
// FailedPrecondition if it is in use, or the interrupted restore had another vault directory; kStorageFailed.
[[nodiscard]] absl::StatusOr<BackupSummary> BeginRestore(const BackupPlaces& from,
                                                         const SealedStoreOptions& to);

// Removes the marker, durably: from here on the directory may be served.
[[nodiscard]] absl::Status FinishRestore(const SealedStoreOptions& to);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_BACKUP_H_
