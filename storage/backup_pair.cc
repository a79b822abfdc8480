#include "storage/backup_pair.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "storage/file_copy.h"
#include "storage/store.h"
#include "storage/vault_format.h"

namespace expunge::storage {
namespace {

// A store has a few files for each 2 MiB; a name and a sum take 200 bytes.
constexpr uint64_t kMostManifestBytes = uint64_t{256} << 20;

absl::StatusOr<BackupManifest> ReadManifest(BackupHalf half, const std::string& place) {
  const std::string path = absl::StrCat(place, "/", kManifestName);
  const absl::StatusOr<std::string> text = ReadSmallFile(path, kMostManifestBytes);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(path, " is missing: there is no ", HalfName(half),
                                            " half of a backup, or it was never finished"));
  }
  EXPUNGE_RETURN_IF_ERROR(text.status());
  std::optional<BackupManifest> manifest = DecodeManifest(*text);
  if (!manifest.has_value()) return DamagedFile(half, kManifestName, "is damaged");
  if (manifest->half != half) {
    return absl::FailedPreconditionError(absl::StrCat(
        place, " is the ", HalfName(manifest->half), " half of a backup, not the ", HalfName(half), " half"));
  }
  return *std::move(manifest);
}

// Compares the names that are there with those that should be.
absl::Status CheckNames(const BackupManifest& manifest, const std::string& place) {
  EXPUNGE_ASSIGN_OR_RETURN(const std::vector<std::string> found, ListTree(place));
  std::vector<std::string> expected{std::string(kManifestName)};
  for (const BackedUpFile& file : manifest.files) expected.push_back(file.name);
  std::sort(expected.begin(), expected.end());
  std::vector<std::string> different;
  std::set_difference(expected.begin(), expected.end(), found.begin(), found.end(),
                      std::back_inserter(different));
  if (!different.empty()) return DamagedFile(manifest.half, different.front(), "is missing");
  std::set_difference(found.begin(), found.end(), expected.begin(), expected.end(),
                      std::back_inserter(different));
  if (!different.empty()) return DamagedFile(manifest.half, different.front(), "is not the backup's");
  return absl::OkStatus();
}

absl::Status CheckTogether(const BackupPair& pair) {
  const BackupIdentity& database = pair.database.identity;
  const BackupIdentity& vault = pair.vault.identity;
  if (database.id != vault.id) {
    return absl::FailedPreconditionError(absl::StrCat("the halves are of two backups: the database half of ",
                                                      database.id, ", the vault half of ", vault.id));
  }
  if (!(database == vault)) {
    return MakeError(Reason::kStorageCorrupt, "",
                     absl::StrCat("the manifests of the two halves of backup ", database.id,
                                  " contradict each other: one is damaged"));
  }
  if (database.format_version == kFormatVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the backup has format ", database.format_version,
                                                    ", and this program serves format ", kFormatVersion,
                                                    ": use the release that made it"));
}

absl::Status CheckFiles(const BackupManifest& manifest, const std::string& place) {
  for (const BackedUpFile& file : manifest.files) {
    EXPUNGE_ASSIGN_OR_RETURN(const FileSum found, SumFile(absl::StrCat(place, "/", file.name)));
    EXPUNGE_RETURN_IF_ERROR(CompareFile(manifest.half, file, found));
  }
  return absl::OkStatus();
}

absl::Status CheckVaultId(const BackupManifest& manifest, const std::string& place) {
  const std::string path = absl::StrCat(place, "/", kKeysName);
  std::string header(vault::kPlaceBytes, '\0');
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return SystemError(errno, "open", path);
  const ssize_t got = ReadAt(file.get(), 0, header.data(), header.size());
  if (got < 0) return SystemError(errno, "read", path);
  const bool whole = static_cast<size_t>(got) == header.size();
  if (whole && ToHex(vault::IdOf(header)) == manifest.identity.vault_id) return absl::OkStatus();
  return DamagedFile(manifest.half, kManifestName, "names another vault than the file keys is of");
}

}  // namespace

BackupSummary Summarize(const BackupPair& pair) {
  BackupSummary summary;
  summary.id = pair.database.identity.id;
  summary.created = pair.database.identity.created;
  summary.sequence = pair.database.identity.sequence;
  for (const BackupManifest* half : {&pair.database, &pair.vault}) {
    summary.files += half->files.size();
    for (const BackedUpFile& file : half->files) summary.bytes += file.sum.size;
  }
  return summary;
}

absl::StatusOr<BackupPair> ReadManifests(const BackupPlaces& places) {
  BackupPair pair;
  EXPUNGE_ASSIGN_OR_RETURN(pair.database, ReadManifest(BackupHalf::kDatabase, places.database));
  EXPUNGE_ASSIGN_OR_RETURN(pair.vault, ReadManifest(BackupHalf::kVault, places.vault));
  EXPUNGE_RETURN_IF_ERROR(CheckTogether(pair));
  EXPUNGE_RETURN_IF_ERROR(CheckNames(pair.database, places.database));
  EXPUNGE_RETURN_IF_ERROR(CheckNames(pair.vault, places.vault));
  return pair;
}

absl::Status DamagedFile(BackupHalf half, absl::string_view file, absl::string_view what) {
  return MakeError(Reason::kStorageCorrupt, "",
                   absl::StrCat("the ", HalfName(half), " half of the backup: the file ", file, " ", what));
}

absl::Status CompareFile(BackupHalf half, const BackedUpFile& expected, const FileSum& found) {
  if (found.size != expected.sum.size) {
    return DamagedFile(half, expected.name,
                       absl::StrCat("has ", found.size, " bytes instead of ", expected.sum.size));
  }
  if (found.sha256 == expected.sum.sha256) return absl::OkStatus();
  return DamagedFile(half, expected.name, "is damaged: its SHA-256 is not the manifest's");
}

absl::StatusOr<BackupSummary> VerifyBackup(const BackupPlaces& places) {
  EXPUNGE_ASSIGN_OR_RETURN(const BackupPair pair, ReadManifests(places));
  EXPUNGE_RETURN_IF_ERROR(CheckFiles(pair.database, places.database));
  EXPUNGE_RETURN_IF_ERROR(CheckFiles(pair.vault, places.vault));
  EXPUNGE_RETURN_IF_ERROR(CheckVaultId(pair.vault, places.vault));
  return Summarize(pair);
}

}  // namespace expunge::storage
