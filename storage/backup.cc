// BackUp. The order of its steps is that of docs/formats/backup.md.
#include "storage/backup.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "base/fault_point.h"
#include "base/hash.h"
#include "base/secret.h"
#include "base/status_macros.h"
#include "storage/backup_manifest.h"
#include "storage/backup_pair.h"
#include "storage/checkpoint.h"
#include "storage/file_copy.h"
#include "storage/vault_format.h"

namespace expunge::storage {
namespace {

namespace fs = std::filesystem;

// For manifests, directories, and what else is written to the disk meanwhile.
constexpr uint64_t kSpareBytes = uint64_t{16} << 20;
constexpr size_t kIdBytes = 16;

// Without `.`, `..` and a slash at the end, with what links lead to, as far as it exists.
absl::StatusOr<std::string> Normalized(const std::string& path) {
  if (path.empty()) return absl::InvalidArgumentError("a backup needs a place for each of its halves");
  std::error_code error;
  fs::path normal = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return SystemError(error.value(), "find", path);
  if (!normal.has_filename()) normal = normal.parent_path();
  return normal.string();
}

bool Contains(const std::string& outer, const std::string& inner) {
  return inner == outer || absl::StartsWith(inner, outer + "/");
}

absl::Status CheckVacant(const std::string& place) {
  struct stat status {};
  if (::lstat(place.c_str(), &status) == 0) {
    return absl::AlreadyExistsError(
        absl::StrCat(place, " exists: a backup makes its own directories, so name one that is not there"));
  }
  return errno == ENOENT ? absl::OkStatus() : SystemError(errno, "examine", place);
}

// Where the halves are to be, checked.
absl::StatusOr<BackupPlaces> Places(const SealedStore& store, const BackupPlaces& given) {
  BackupPlaces places;
  EXPUNGE_ASSIGN_OR_RETURN(places.database, Normalized(given.database));
  EXPUNGE_ASSIGN_OR_RETURN(places.vault, Normalized(given.vault));
  if (Contains(places.database, places.vault) || Contains(places.vault, places.database)) {
    return absl::InvalidArgumentError("the halves of a backup need two places, neither within the other");
  }
  for (const std::string& used : {store.options().directory, store.options().vault_directory}) {
    EXPUNGE_ASSIGN_OR_RETURN(const std::string live, Normalized(used));
    if (Contains(live, places.database) || Contains(live, places.vault)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a backup cannot lie within ", live, ", which the server uses"));
    }
  }
  EXPUNGE_RETURN_IF_ERROR(CheckVacant(places.database));
  EXPUNGE_RETURN_IF_ERROR(CheckVacant(places.vault));
  return places;
}

absl::StatusOr<std::vector<std::string>> FilesOf(const Checkpoint& checkpoint, uint64_t* bytes) {
  EXPUNGE_ASSIGN_OR_RETURN(std::vector<std::string> files, ListTree(checkpoint.path()));
  for (const std::string& file : files) {
    std::error_code error;
    const std::string path = absl::StrCat(checkpoint.path(), "/", file);
    *bytes += fs::file_size(path, error);
    if (error) return SystemError(error.value(), "examine", path);
  }
  return files;
}

absl::Status CheckFree(const Checkpoint& checkpoint, const std::string& folder, uint64_t needed) {
  EXPUNGE_ASSIGN_OR_RETURN(const uint64_t free, checkpoint.FreeSpace(folder));
  if (free >= needed + kSpareBytes) return absl::OkStatus();
  return MakeError(Reason::kStorageFailed, "",
                   absl::StrCat("the backup needs ", needed + kSpareBytes, " bytes of free disk space in ",
                                folder, ", and ", free, " are free"));
}

// Both halves may lie in one file system.
absl::Status CheckSpace(const Checkpoint& checkpoint, const BackupPlaces& places, uint64_t database_bytes,
                        uint64_t vault_bytes) {
  const std::string database = FolderOf(places.database);
  const std::string vault = FolderOf(places.vault);
  struct stat one {};
  struct stat other {};
  if (::stat(database.c_str(), &one) != 0) return SystemError(errno, "examine", database);
  if (::stat(vault.c_str(), &other) != 0) return SystemError(errno, "examine", vault);
  if (one.st_dev == other.st_dev) return CheckFree(checkpoint, database, database_bytes + vault_bytes);
  EXPUNGE_RETURN_IF_ERROR(CheckFree(checkpoint, database, database_bytes));
  return CheckFree(checkpoint, vault, vault_bytes);
}

// Copies the files; the directories are synced, the manifest is still missing.
absl::StatusOr<std::vector<BackedUpFile>> CopyDatabase(const Checkpoint& checkpoint,
                                                       const std::vector<std::string>& files,
                                                       const std::string& place) {
  const std::string records = absl::StrCat(place, "/records");
  EXPUNGE_RETURN_IF_ERROR(MakeDirectory(records));
  std::vector<BackedUpFile> copied;
  for (const std::string& file : files) {
    EXPUNGE_ASSIGN_OR_RETURN(const FileSum sum, CopyFile(absl::StrCat(checkpoint.path(), "/", file),
                                                         absl::StrCat(records, "/", file)));
    copied.push_back({absl::StrCat(kRecordsPrefix, file), sum});
    CrashPoint("backup.file_copied");
  }
  EXPUNGE_RETURN_IF_ERROR(SyncFolder(records));
  EXPUNGE_RETURN_IF_ERROR(CheckDatabaseCopy(records));
  return copied;
}

absl::StatusOr<std::vector<BackedUpFile>> WriteKeys(const SecretBytes& keys, const std::string& place) {
  EXPUNGE_RETURN_IF_ERROR(CreateDurably(absl::StrCat(place, "/", kKeysName), AsView(keys)));
  return std::vector<BackedUpFile>{{std::string(kKeysName), {keys.size(), Sha256(AsView(keys))}}};
}

// From here on the half counts.
absl::Status WriteManifest(const BackupManifest& manifest, const std::string& place) {
  const std::string text = EncodeManifest(manifest);
  if (!DecodeManifest(text).has_value()) {
    return MakeError(Reason::kInternal, "", "the database has a file of a kind that no backup has");
  }
  EXPUNGE_RETURN_IF_ERROR(CreateDurably(absl::StrCat(place, "/", kManifestName), text));
  return SyncFolder(FolderOf(place));
}

// Takes the copies of both as of one moment and brings them to their places.
absl::StatusOr<BackupPair> CopyBoth(SealedStore& store, const BackupPlaces& places, absl::Time now) {
  EXPUNGE_ASSIGN_OR_RETURN(const std::unique_ptr<Checkpoint> checkpoint, store.database().BeginCheckpoint());
  CrashPoint("backup.flushed");
  EXPUNGE_ASSIGN_OR_RETURN(const SecretBytes keys, store.LinkBoth(checkpoint.get()));
  CrashPoint("backup.linked");
  uint64_t bytes = 0;
  EXPUNGE_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesOf(*checkpoint, &bytes));
  EXPUNGE_RETURN_IF_ERROR(CheckSpace(*checkpoint, places, bytes, keys.size()));
  EXPUNGE_RETURN_IF_ERROR(MakeDirectory(places.database));
  absl::Cleanup remove_database = [&places] { RemoveTree(places.database).IgnoreError(); };
  EXPUNGE_RETURN_IF_ERROR(MakeDirectory(places.vault));
  absl::Cleanup remove_vault = [&places] { RemoveTree(places.vault).IgnoreError(); };

  BackupPair pair;
  EXPUNGE_ASSIGN_OR_RETURN(pair.database.files, CopyDatabase(*checkpoint, files, places.database));
  CrashPoint("backup.database_copied");
  EXPUNGE_RETURN_IF_ERROR(checkpoint->Remove());
  EXPUNGE_ASSIGN_OR_RETURN(pair.vault.files, WriteKeys(keys, places.vault));
  CrashPoint("backup.vault_copied");
  pair.database.half = BackupHalf::kDatabase;
  pair.vault.half = BackupHalf::kVault;
  pair.database.identity = {ToHex(AsView(RandomDigest()).substr(0, kIdBytes)),
                            ToHex(vault::IdOf(AsView(keys))), now, kFormatVersion, checkpoint->sequence()};
  pair.vault.identity = pair.database.identity;
  EXPUNGE_RETURN_IF_ERROR(WriteManifest(pair.vault, places.vault));
  CrashPoint("backup.vault_done");
  EXPUNGE_RETURN_IF_ERROR(WriteManifest(pair.database, places.database));
  CrashPoint("backup.done");
  std::move(remove_database).Cancel();
  std::move(remove_vault).Cancel();
  return pair;
}

}  // namespace

absl::StatusOr<BackupSummary> BackUp(SealedStore& store, const BackupPlaces& places, absl::Time now) {
  EXPUNGE_ASSIGN_OR_RETURN(const BackupPlaces checked, Places(store, places));
  EXPUNGE_ASSIGN_OR_RETURN(const BackupPair pair, CopyBoth(store, checked, now));
  return Summarize(pair);
}

}  // namespace expunge::storage
