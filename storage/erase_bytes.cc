#include "storage/erase_bytes.h"

#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/transaction_log.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/error.h"
#include "base/fault_point.h"
#include "base/status_macros.h"
#include "storage/database_options.h"
#include "storage/free_space.h"
#include "storage/rocks_status.h"

namespace expunge::storage {
namespace {

using Families = absl::Span<rocksdb::ColumnFamilyHandle* const>;

// How long to wait for readers that hold old files: a lookup ends within this; a long scan does not.
constexpr absl::Duration kPatience = absl::Seconds(1);
constexpr absl::Duration kPause = absl::Milliseconds(10);
// Beyond the size of the largest family: for what is written meanwhile.
constexpr uint64_t kSpareBytes = uint64_t{16} << 20;

// The numbers that RocksDB gives to files rise; these divide the old from the new.
struct Boundaries {
  uint64_t last_log = 0;       // logs up to this one may hold deleted bytes
  uint64_t last_table = 0;     // table files up to this one may
  uint64_t last_output = 0;    // table files up to this one are in use, or must go
  uint64_t last_manifest = 0;  // MANIFESTs up to this one may
};

std::vector<rocksdb::LiveFileMetaData> Tables(rocksdb::DB& database) {
  std::vector<rocksdb::LiveFileMetaData> tables;
  database.GetLiveFilesMetaData(&tables);
  return tables;
}

uint64_t LastTable(rocksdb::DB& database) {
  uint64_t last = 0;
  for (const rocksdb::LiveFileMetaData& table : Tables(database)) last = std::max(last, table.file_number);
  return last;
}

absl::StatusOr<uint64_t> CurrentManifest(rocksdb::DB& database) {
  std::string current;
  EXPUNGE_RETURN_IF_ERROR(FromRocks(
      rocksdb::ReadFileToString(database.GetEnv(), absl::StrCat(database.GetName(), "/CURRENT"), &current),
      "read the file CURRENT"));
  absl::string_view name = absl::StripSuffix(current, "\n");
  uint64_t number = 0;
  if (!absl::ConsumePrefix(&name, "MANIFEST-") || !absl::SimpleAtoi(name, &number)) {
    return MakeError(Reason::kStorageCorrupt, "", "the file CURRENT of the database is unreadable");
  }
  return number;
}

// The number of the log that is written now.
absl::StatusOr<uint64_t> CurrentLog(rocksdb::DB& database) {
  std::unique_ptr<rocksdb::LogFile> log;
  EXPUNGE_RETURN_IF_ERROR(FromRocks(database.GetCurrentWalFile(&log), "find the log"));
  return log->LogNumber();
}

// A flush begins a new log only if there is something to flush; if there is not, even old logs are kept from
// an opening on. A tombstone for a key that no record has is something, and the compaction drops it.
absl::Status WriteSomething(rocksdb::DB& database, Families families) {
  return FromRocks(database.Delete(CommitOptions(), families.front(), rocksdb::Slice()), "write to the log");
}

absl::Status SetAutomaticCompactions(rocksdb::DB& database, Families families, bool on) {
  for (rocksdb::ColumnFamilyHandle* family : families) {
    EXPUNGE_RETURN_IF_ERROR(
        FromRocks(database.SetOptions(family, {{"disable_auto_compactions", on ? "false" : "true"}}),
                  "switch automatic compactions"));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Property(rocksdb::DB& database, const std::string& name) {
  uint64_t value = 0;
  if (database.GetIntProperty(name, &value)) return value;
  return MakeError(Reason::kStorageFailed, "", absl::StrCat("the database does not report ", name));
}

// Those that run already would move files under our hands.
absl::Status AwaitRunningCompactions(rocksdb::DB& database) {
  for (;;) {
    EXPUNGE_ASSIGN_OR_RETURN(const uint64_t running,
                             Property(database, rocksdb::DB::Properties::kNumRunningCompactions));
    if (running == 0) return absl::OkStatus();
    absl::SleepFor(kPause);
  }
}

// A compaction carries along what a snapshot can still see. Snapshots that begin later don't see it.
absl::Status CheckNoSnapshot(rocksdb::DB& database) {
  EXPUNGE_ASSIGN_OR_RETURN(const uint64_t snapshots,
                           Property(database, rocksdb::DB::Properties::kNumSnapshots));
  if (snapshots == 0) return absl::OkStatus();
  return MakeError(Reason::kStorageFailed, "", "a snapshot of the database keeps deleted records");
}

// A compaction that runs out of space would make the whole database read-only: better not to begin.
absl::Status CheckSpace(rocksdb::DB& database) {
  const uint64_t needed = SpaceToErase(database);
  EXPUNGE_ASSIGN_OR_RETURN(const uint64_t free, FreeSpace(database.GetEnv(), database.GetName()));
  if (free >= needed) return absl::OkStatus();
  return MakeError(
      Reason::kStorageFailed, "",
      absl::StrCat("erasing needs ", needed, " bytes of free disk space, and ", free, " are free"));
}

absl::Status FlushAll(rocksdb::DB& database, Families families) {
  rocksdb::FlushOptions options;
  options.wait = true;
  options.allow_write_stall = true;
  return FromRocks(database.Flush(options, {families.begin(), families.end()}), "flush the tables");
}

absl::Status RewriteAll(rocksdb::DB& database, Families families) {
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = true;
  if (!Mutated("erase.force_last_level")) {
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  }
  for (rocksdb::ColumnFamilyHandle* family : families) {
    EXPUNGE_RETURN_IF_ERROR(
        FromRocks(database.CompactRange(options, family, nullptr, nullptr), "rewrite the tables"));
  }
  return absl::OkStatus();
}

// 12 for "000012.log" and ".log"; nullopt for other names.
std::optional<uint64_t> NumberOf(absl::string_view name, absl::string_view suffix) {
  uint64_t number = 0;
  if (!absl::ConsumeSuffix(&name, suffix) || !absl::SimpleAtoi(name, &number)) return std::nullopt;
  return number;
}

// Whether a file may be in the directory. What isn't known to be harmless must go.
bool MayStay(absl::string_view name, const Boundaries& boundaries, const std::set<uint64_t>& live,
             uint64_t manifest) {
  for (const absl::string_view without_records : {"CURRENT", "IDENTITY", "LOCK", "LOG", ".", ".."}) {
    if (name == without_records) return true;
  }
  if (absl::StartsWith(name, "OPTIONS-")) return true;
  if (absl::ConsumePrefix(&name, "MANIFEST-")) {
    uint64_t number = 0;
    return absl::SimpleAtoi(name, &number) && number >= manifest && number > boundaries.last_manifest;
  }
  if (const auto log = NumberOf(name, ".log")) return *log > boundaries.last_log;
  if (const auto table = NumberOf(name, ".sst")) {
    // A newer one that is not in use is being written.
    return *table > boundaries.last_table && (*table > boundaries.last_output || live.contains(*table));
  }
  return false;
}

// The info logs of earlier runs, which RocksDB would keep.
absl::Status RemoveOldInfoLogs(rocksdb::DB& database, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (!absl::StartsWith(file, "LOG.old.")) continue;
    const rocksdb::Status removed =
        database.GetEnv()->DeleteFile(absl::StrCat(database.GetName(), "/", file));
    if (!removed.IsNotFound()) EXPUNGE_RETURN_IF_ERROR(FromRocks(removed, "remove an old info log"));
  }
  return absl::OkStatus();
}

// Deletes what is obsolete. Returns the name of a file that is there nevertheless; empty if there is none.
absl::StatusOr<std::string> RemoveObsoleteFiles(rocksdb::DB& database, const Boundaries& boundaries) {
  // RocksDB goes through the whole directory when deletions are allowed again.
  EXPUNGE_RETURN_IF_ERROR(FromRocks(database.DisableFileDeletions(), "hold deletions"));
  EXPUNGE_RETURN_IF_ERROR(FromRocks(database.EnableFileDeletions(/*force=*/false), "remove obsolete files"));
  // Before the directory is read: a MANIFEST that began since is newer.
  EXPUNGE_ASSIGN_OR_RETURN(const uint64_t manifest, CurrentManifest(database));
  std::vector<std::string> files;
  EXPUNGE_RETURN_IF_ERROR(
      FromRocks(database.GetEnv()->GetChildren(database.GetName(), &files), "list the database's files"));
  EXPUNGE_RETURN_IF_ERROR(RemoveOldInfoLogs(database, files));
  // After the directory is read: a table that was finished since is in use.
  std::set<uint64_t> live;
  for (const rocksdb::LiveFileMetaData& table : Tables(database)) live.insert(table.file_number);
  for (const std::string& file : files) {
    if (absl::StartsWith(file, "LOG.old.")) continue;
    if (!MayStay(file, boundaries, live, manifest)) return file;
  }
  return std::string();
}

absl::Status SyncDirectory(rocksdb::DB& database) {
  std::unique_ptr<rocksdb::Directory> directory;
  EXPUNGE_RETURN_IF_ERROR(
      FromRocks(database.GetEnv()->NewDirectory(database.GetName(), &directory), "open the directory"));
  return FromRocks(directory->Fsync(), "sync the directory");
}

// Steps 1 and 2.
absl::StatusOr<Boundaries> Rewrite(rocksdb::DB& database, Families families) {
  Boundaries boundaries;
  EXPUNGE_RETURN_IF_ERROR(AwaitRunningCompactions(database));
  EXPUNGE_ASSIGN_OR_RETURN(boundaries.last_log, CurrentLog(database));
  EXPUNGE_RETURN_IF_ERROR(WriteSomething(database, families));
  EXPUNGE_RETURN_IF_ERROR(FlushAll(database, families));
  CrashPoint("erase.flushed");
  boundaries.last_table = LastTable(database);
  EXPUNGE_RETURN_IF_ERROR(CheckNoSnapshot(database));
  EXPUNGE_RETURN_IF_ERROR(CheckSpace(database));
  EXPUNGE_RETURN_IF_ERROR(RewriteAll(database, families));
  CrashPoint("erase.rewritten");
  boundaries.last_output = LastTable(database);
  EXPUNGE_ASSIGN_OR_RETURN(boundaries.last_manifest, CurrentManifest(database));
  return boundaries;
}

}  // namespace

uint64_t SpaceToErase(rocksdb::DB& database) {
  std::map<std::string, uint64_t> sizes;
  uint64_t largest = 0;
  for (const rocksdb::LiveFileMetaData& table : Tables(database)) {
    largest = std::max(largest, sizes[table.column_family_name] += table.size);
  }
  return largest + kSpareBytes;
}

absl::Status EraseDeletedBytes(rocksdb::DB& database, Families families) {
  absl::Cleanup restore = [&] { SetAutomaticCompactions(database, families, true).IgnoreError(); };
  EXPUNGE_RETURN_IF_ERROR(SetAutomaticCompactions(database, families, false));
  EXPUNGE_ASSIGN_OR_RETURN(const Boundaries boundaries, Rewrite(database, families));
  std::move(restore).Cancel();
  // This is step 3, too: RocksDB records the switch in the MANIFEST.
  EXPUNGE_RETURN_IF_ERROR(SetAutomaticCompactions(database, families, true));
  CrashPoint("erase.new_manifest");
  const absl::Time deadline = absl::Now() + kPatience;
  for (;;) {
    EXPUNGE_ASSIGN_OR_RETURN(const std::string remaining, RemoveObsoleteFiles(database, boundaries));
    if (remaining.empty()) return SyncDirectory(database);
    if (absl::Now() >= deadline) {
      return MakeError(Reason::kStorageFailed, "",
                       absl::StrCat("a file that must go is still there (", remaining,
                                    "): a reader holds it, or it is not the database's"));
    }
    absl::SleepFor(kPause);
  }
}

}  // namespace expunge::storage
