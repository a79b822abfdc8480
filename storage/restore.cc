// BeginRestore and FinishRestore: a verified backup, copied to where it is to be served from.
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/durable_file.h"
#include "base/fault_point.h"
#include "base/status_macros.h"
#include "storage/backup.h"
#include "storage/backup_manifest.h"
#include "storage/backup_pair.h"
#include "storage/directory.h"
#include "storage/file_copy.h"
#include "storage/key_vault.h"
#include "storage/restore_marker.h"

namespace expunge::storage {
namespace {

namespace fs = std::filesystem;

// Whether anything is in `directory` but what is named in `may_be_there`. Not if there is no directory.
absl::StatusOr<bool> HasMoreThan(const std::string& directory, const std::set<std::string>& may_be_there) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(directory, error))) return false;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (!may_be_there.contains(entry->path().filename().string())) return true;
  }
  if (error) return SystemError(error.value(), "list", directory);
  return false;
}

absl::Status Occupied(const std::string& directory) {
  return absl::AlreadyExistsError(absl::StrCat(
      directory, " has something in it that is not of an interrupted restore: name a new directory"));
}

absl::Status RemoveAllBut(const std::string& directory, const std::set<std::string>& kept) {
  std::error_code error;
  if (!fs::exists(directory, error)) return absl::OkStatus();
  std::vector<std::string> removed;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (!kept.contains(entry->path().filename().string())) removed.push_back(entry->path().string());
  }
  if (error) return SystemError(error.value(), "list", directory);
  for (const std::string& path : removed) EXPUNGE_RETURN_IF_ERROR(RemoveTree(path));
  return SyncFolder(directory);
}

// Makes both destinations empty but for the marker, which is there then.
absl::Status ClearDestinations(const SealedStoreOptions& to, const RestoreMarker& marker) {
  EXPUNGE_ASSIGN_OR_RETURN(const std::optional<RestoreMarker> interrupted, ReadRestoreMarker(to.directory));
  if (!interrupted.has_value()) {
    for (const std::string& directory : {to.directory, to.vault_directory}) {
      EXPUNGE_ASSIGN_OR_RETURN(const bool occupied, HasMoreThan(directory, {"lock"}));
      if (occupied) return Occupied(directory);
    }
    return WriteRestoreMarker(to.directory, marker);
  }
  if (interrupted->vault_directory != marker.vault_directory) {
    return absl::FailedPreconditionError(
        absl::StrCat("the interrupted restore put its keys into ", interrupted->vault_directory,
                     ": run it again with that directory, or remove both directories"));
  }
  EXPUNGE_RETURN_IF_ERROR(RemoveAllBut(to.directory, {"lock", "restoring"}));
  EXPUNGE_RETURN_IF_ERROR(RemoveAllBut(to.vault_directory, {}));
  CrashPoint("restore.cleared");
  return absl::OkStatus();
}

absl::Status CopyHalf(const BackupManifest& manifest, const std::string& from, const std::string& to) {
  for (const BackedUpFile& file : manifest.files) {
    EXPUNGE_ASSIGN_OR_RETURN(const FileSum copied,
                             CopyFile(absl::StrCat(from, "/", file.name), absl::StrCat(to, "/", file.name)));
    EXPUNGE_RETURN_IF_ERROR(CompareFile(manifest.half, file, copied));
    CrashPoint("restore.file_copied");
  }
  return SyncFolder(to);
}

// A wrong master key is noticed while nothing is written yet.
absl::Status CheckMasterKey(const std::string& vault_directory, MasterKeyProvider* provider) {
  EXPUNGE_ASSIGN_OR_RETURN(SecretKey master, provider->Load(/*may_create=*/false));
  return KeyVault::OpenForReading(vault_directory, std::move(master)).status();
}

absl::StatusOr<RestoreMarker> MarkerFor(const SealedStoreOptions& to) {
  std::error_code error;
  const fs::path vault = fs::weakly_canonical(fs::absolute(to.vault_directory, error), error);
  if (error) return SystemError(error.value(), "find", to.vault_directory);
  return RestoreMarker{vault.string()};
}

}  // namespace

absl::StatusOr<BackupSummary> BeginRestore(const BackupPlaces& from, const SealedStoreOptions& options) {
  const SealedStoreOptions to = WithDefaults(options);
  EXPUNGE_ASSIGN_OR_RETURN(const BackupSummary summary, VerifyBackup(from));
  EXPUNGE_ASSIGN_OR_RETURN(const BackupPair pair, ReadManifests(from));
  EXPUNGE_RETURN_IF_ERROR(CheckMasterKey(from.vault, to.master_key.get()));
  EXPUNGE_ASSIGN_OR_RETURN(const RestoreMarker marker, MarkerFor(to));

  EXPUNGE_RETURN_IF_ERROR(PrepareDirectory(to.directory, /*create=*/true));
  EXPUNGE_ASSIGN_OR_RETURN(const DirectoryLock lock, DirectoryLock::Acquire(to.directory));
  EXPUNGE_RETURN_IF_ERROR(ClearDestinations(to, marker));
  EXPUNGE_RETURN_IF_ERROR(SyncFolder(FolderOf(to.directory)));
  CrashPoint("restore.marked");
  EXPUNGE_RETURN_IF_ERROR(PrepareDirectory(to.vault_directory, /*create=*/true));
  EXPUNGE_RETURN_IF_ERROR(CopyHalf(pair.vault, from.vault, to.vault_directory));
  EXPUNGE_RETURN_IF_ERROR(SyncFolder(FolderOf(to.vault_directory)));
  CrashPoint("restore.vault_copied");
  EXPUNGE_RETURN_IF_ERROR(MakeDirectory(absl::StrCat(to.directory, "/records")));
  EXPUNGE_RETURN_IF_ERROR(CopyHalf(pair.database, from.database, to.directory));
  EXPUNGE_RETURN_IF_ERROR(SyncFolder(absl::StrCat(to.directory, "/records")));
  CrashPoint("restore.copied");
  return summary;
}

absl::Status FinishRestore(const SealedStoreOptions& to) {
  EXPUNGE_RETURN_IF_ERROR(RemoveRestoreMarker(to.directory));
  CrashPoint("restore.done");
  return absl::OkStatus();
}

}  // namespace expunge::storage
