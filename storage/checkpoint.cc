#include "storage/checkpoint.h"

#include <rocksdb/utilities/checkpoint.h>

#include <filesystem>
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
#include "base/status_macros.h"
#include "storage/database_options.h"
#include "storage/file_copy.h"
#include "storage/free_space.h"
#include "storage/rocks_status.h"

namespace expunge::storage {
namespace {

constexpr absl::string_view kPrefix = "backup-";
// For what a flush writes: as much as the log may hold, twice.
constexpr uint64_t kSpareBytes = uint64_t{32} << 20;

absl::Status CheckSpace(rocksdb::DB& database) {
  EXPUNGE_ASSIGN_OR_RETURN(const uint64_t free, FreeSpace(database.GetEnv(), database.GetName()));
  if (free >= kSpareBytes) return absl::OkStatus();
  return MakeError(Reason::kStorageFailed, "",
                   absl::StrCat("a backup needs ", kSpareBytes,
                                " bytes of free disk space beside the database, and ", free, " are free"));
}

}  // namespace

Checkpoint::Checkpoint(rocksdb::DB& database, std::string directory, std::unique_lock<std::mutex> no_erasure)
    : database_(database),
      directory_(std::move(directory)),
      // RocksDB wants an absolute path.
      path_(std::filesystem::absolute(
                absl::StrCat(directory_, "/", kPrefix, ToHex(AsView(RandomDigest()).substr(0, 8))))
                .string()),
      no_erasure_(std::move(no_erasure)) {}

absl::StatusOr<std::unique_ptr<Checkpoint>> Checkpoint::Begin(
    rocksdb::DB& database, absl::Span<rocksdb::ColumnFamilyHandle* const> families,
    const std::string& directory, std::unique_lock<std::mutex> no_erasure) {
  EXPUNGE_RETURN_IF_ERROR(CheckSpace(database));
  rocksdb::FlushOptions options;
  options.wait = true;
  EXPUNGE_RETURN_IF_ERROR(
      FromRocks(database.Flush(options, {families.begin(), families.end()}), "flush the tables"));
  return std::unique_ptr<Checkpoint>(new Checkpoint(database, directory, std::move(no_erasure)));
}

Checkpoint::~Checkpoint() {
  // What is left then is removed before the next erasure, or at the next start.
  if (no_erasure_.owns_lock()) RemoveCheckpoints(directory_).IgnoreError();
}

absl::Status Checkpoint::Link() {
  rocksdb::Checkpoint* raw = nullptr;
  const rocksdb::Status created = rocksdb::Checkpoint::Create(&database_, &raw);
  const std::unique_ptr<rocksdb::Checkpoint> maker(raw);
  EXPUNGE_RETURN_IF_ERROR(FromRocks(created, "prepare a checkpoint"));
  sequence_ = database_.GetLatestSequenceNumber();
  // With a flush of what came since Begin, so that there is nothing in the log.
  return FromRocks(maker->CreateCheckpoint(path_, /*log_size_for_flush=*/0), "link the database's files");
}

absl::Status Checkpoint::Remove() {
  EXPUNGE_RETURN_IF_ERROR(RemoveCheckpoints(directory_));
  no_erasure_.unlock();
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Checkpoint::FreeSpace(const std::string& folder) const {
  return storage::FreeSpace(database_.GetEnv(), folder);
}

absl::Status RemoveCheckpoints(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> found;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (absl::StartsWith(entry->path().filename().string(), kPrefix)) found.push_back(entry->path().string());
  }
  if (error) return SystemError(error.value(), "list", directory);
  if (found.empty()) return absl::OkStatus();
  for (const std::string& path : found) EXPUNGE_RETURN_IF_ERROR(RemoveTree(path));
  CrashPoint("backup.checkpoint_removed");
  return SyncFolder(directory);
}

absl::Status CheckDatabaseCopy(const std::string& path) {
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : ColumnFamilyNames()) families.emplace_back(name, FamilyOptions());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* raw = nullptr;
  const rocksdb::Status opened =
      rocksdb::DB::OpenForReadOnly(DatabaseOptions(nullptr), path, families, &handles, &raw);
  const std::unique_ptr<rocksdb::DB> database(raw);
  EXPUNGE_RETURN_IF_ERROR(FromRocks(opened, "open the copy of the database"));
  const absl::Cleanup close = [&] {
    for (rocksdb::ColumnFamilyHandle* handle : handles) database->DestroyColumnFamilyHandle(handle);
  };
  return FromRocks(database->VerifyChecksum(LookupOptions()), "verify the copy of the database");
}

}  // namespace expunge::storage
