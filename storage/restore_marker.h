// The marker of a restore that is not finished: the file `restoring` in the database's directory.
//
// It is there, durably, before the first file of the restore, and goes after everything is done that a
// restored pair needs before it may be served. It says into which directory the vault goes: that was empty
// then, so what is in it belongs to the restore.
#ifndef EXPUNGE_STORAGE_RESTORE_MARKER_H_
#define EXPUNGE_STORAGE_RESTORE_MARKER_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace expunge::storage {

struct RestoreMarker {
  std::string vault_directory;  // absolute
};

// The file's path.
[[nodiscard]] std::string RestoreMarkerPath(const std::string& directory);

// nullopt if there is none. Returns: DataLoss (kStorageCorrupt) if it is unreadable; kStorageFailed.
[[nodiscard]] absl::StatusOr<std::optional<RestoreMarker>> ReadRestoreMarker(const std::string& directory);

// Returns: as CreateDurably.
[[nodiscard]] absl::Status WriteRestoreMarker(const std::string& directory, const RestoreMarker& marker);

// Durably; OK if there is none. Returns: kStorageFailed.
[[nodiscard]] absl::Status RemoveRestoreMarker(const std::string& directory);

// Returns: FailedPrecondition if there is a marker, readable or not; kStorageFailed.
[[nodiscard]] absl::Status CheckNoRestore(const std::string& directory);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_RESTORE_MARKER_H_
