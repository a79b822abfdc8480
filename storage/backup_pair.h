// The two halves of a backup, read and checked: what VerifyBackup and restoring share.
#ifndef EXPUNGE_STORAGE_BACKUP_PAIR_H_
#define EXPUNGE_STORAGE_BACKUP_PAIR_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/backup.h"
#include "storage/backup_manifest.h"

namespace expunge::storage {

struct BackupPair {
  BackupManifest database;
  BackupManifest vault;
};

[[nodiscard]] BackupSummary Summarize(const BackupPair& pair);

// Reads both manifests, and compares them, and the lists of files that are there. Reads no file's content.
// Returns: as VerifyBackup.
[[nodiscard]] absl::StatusOr<BackupPair> ReadManifests(const BackupPlaces& places);

// DataLoss (kStorageCorrupt) that names half and file.
[[nodiscard]] absl::Status DamagedFile(BackupHalf half, absl::string_view file, absl::string_view what);

// OK if `found` is what the manifest says of the file. Returns: DataLoss as DamagedFile.
[[nodiscard]] absl::Status CompareFile(BackupHalf half, const BackedUpFile& expected, const FileSum& found);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_BACKUP_PAIR_H_
