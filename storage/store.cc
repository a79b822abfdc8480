#include "storage/store.h"

#include <rocksdb/db.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "storage/checkpoint.h"
#include "storage/database_options.h"
#include "storage/directory.h"
#include "storage/disk_reserve.h"
#include "storage/erase_bytes.h"
#include "storage/restore_marker.h"
#include "storage/rocks_status.h"

namespace expunge::storage {
namespace {

constexpr absl::string_view kFormatKey = "format";

rocksdb::Slice ToSlice(absl::string_view bytes) { return {bytes.data(), bytes.size()}; }
absl::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

absl::Status CheckFormat(absl::string_view stored) {
  uint64_t format = 0;
  if (!absl::SimpleAtoi(std::string(stored), &format) || format == 0) {
    return MakeError(Reason::kStorageCorrupt, "", "the format version of the data directory is unreadable");
  }
  if (format == kFormatVersion) return absl::OkStatus();
  if (format < kFormatVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the data directory has format ", format,
                     ", whose certificates are in no log; this program serves format ", kFormatVersion,
                     " alone: start with a new directory, add the tokens again, and destroy the old one"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the data directory has format ", format, ", and this program knows format ", kFormatVersion,
      ": start the newer release that wrote it, or restore a backup of format ", kFormatVersion));
}

// Without CURRENT RocksDB begins a new database among the files of the old one. It may fail then; but the
// next start finds that CURRENT, serves what it names, and deletes the rest. A first start that was cut short
// leaves no CURRENT either, but then there is no log and no table yet.
absl::Status CheckNothingIsThere(const std::string& path, rocksdb::Env* env) {
  std::vector<std::string> files;
  const rocksdb::Status listed = env->GetChildren(path, &files);
  if (listed.IsNotFound()) return absl::OkStatus();
  EXPUNGE_RETURN_IF_ERROR(FromRocks(listed, "list the database's files"));
  for (const std::string& file : files) {
    if (!absl::EndsWith(file, ".log") && !absl::EndsWith(file, ".sst")) continue;
    return MakeError(Reason::kStorageCorrupt, "",
                     "the database has files, but its file CURRENT is missing: restore a backup as a whole");
  }
  return absl::OkStatus();
}

// Reads the format version without opening anything else, and without writing: a newer format may have column
// families that we don't know. OK if there is no database yet.
absl::Status CheckFormatOf(const std::string& path, const rocksdb::DBOptions& options) {
  if (options.env->FileExists(absl::StrCat(path, "/CURRENT")).IsNotFound()) {
    return CheckNothingIsThere(path, options.env);
  }
  const std::vector<rocksdb::ColumnFamilyDescriptor> meta = {{ColumnFamilyNames().front(), FamilyOptions()}};
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* raw = nullptr;
  const rocksdb::Status opened = rocksdb::DB::OpenForReadOnly(options, path, meta, &handles, &raw);
  const std::unique_ptr<rocksdb::DB> database(raw);
  EXPUNGE_RETURN_IF_ERROR(FromRocks(opened, "open the database"));
  std::string value;
  const rocksdb::Status read = database->Get(LookupOptions(), handles[0], ToSlice(kFormatKey), &value);
  database->DestroyColumnFamilyHandle(handles[0]);
  // The version is the first thing that is ever written: without it there is nothing else, either.
  if (read.IsNotFound()) return absl::OkStatus();
  EXPUNGE_RETURN_IF_ERROR(FromRocks(read, "read the format version"));
  return CheckFormat(value);
}

}  // namespace

struct Transaction::Impl {
  struct Change {
    Table table;
    bool put;
    std::string key;
    std::string value;
  };
  std::vector<Change> changes;
  uint64_t bytes = 0;
  bool use_reserve = false;
};

Transaction::Transaction() : impl_(std::make_unique<Impl>()) {}
Transaction::~Transaction() = default;
Transaction::Transaction(Transaction&&) noexcept = default;
Transaction& Transaction::operator=(Transaction&&) noexcept = default;

void Transaction::Put(Table table, absl::string_view key, absl::string_view value) {
  impl_->bytes += key.size() + value.size();
  impl_->changes.push_back({table, true, std::string(key), std::string(value)});
}

void Transaction::Delete(Table table, absl::string_view key) {
  impl_->bytes += key.size();
  impl_->changes.push_back({table, false, std::string(key), std::string()});
}

void Transaction::UseReserve() { impl_->use_reserve = true; }

struct Store::Impl {
  Impl(std::string path, DirectoryLock held, const StoreOptions& options)
      : directory(std::move(path)),
        lock(std::move(held)),
        read_only(options.read_only),
        reserve(directory + "/reserve", options.read_only ? 0 : options.reserve_bytes,
                options.env == nullptr ? rocksdb::Env::Default() : options.env) {}
  ~Impl() {
    for (rocksdb::ColumnFamilyHandle* handle : handles) database->DestroyColumnFamilyHandle(handle);
    database.reset();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] rocksdb::ColumnFamilyHandle* Handle(Table table) const {
    return handles.at(static_cast<size_t>(table));
  }

  absl::Status OpenDatabase(const std::string& path, const rocksdb::DBOptions& options) {
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : ColumnFamilyNames()) families.emplace_back(name, FamilyOptions());
    rocksdb::DB* raw = nullptr;
    const rocksdb::Status opened = read_only
                                       ? rocksdb::DB::OpenForReadOnly(options, path, families, &handles, &raw)
                                       : rocksdb::DB::Open(options, path, families, &handles, &raw);
    database.reset(raw);
    EXPUNGE_RETURN_IF_ERROR(FromRocks(opened, "open the database"));
    return read_only ? absl::OkStatus() : EndManifest();
  }

  // What DB::Open adds to the MANIFEST is a record for each table, and of one that is cut short among them
  // the rest is taken for the whole: tables would be empty that are not. One change more begins a new
  // MANIFEST (database_options.cc): the state, and a single record after it, without which it does not open.
  absl::Status EndManifest() {
    return FromRocks(database->SetOptions(handles.front(), {{"disable_auto_compactions", "false"}}),
                     "write the MANIFEST");
  }

  [[nodiscard]] absl::Status CheckWritable() const {
    if (read_only) return MakeError(Reason::kStorageFailed, "", "the data is open for reading only");
    if (!failed) return absl::OkStatus();
    return MakeError(Reason::kStorageFailed, "",
                     "an earlier write failed: the data is read-only until the server is restarted");
  }

  const std::string directory;
  DirectoryLock lock;  // released last
  const bool read_only;
  std::unique_ptr<rocksdb::DB> database;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;  // in the order of Table
  std::atomic<bool> failed = false;
  DiskReserve reserve;
  std::mutex erasing;  // held by erasures and by checkpoints
  bool is_new = false;
};

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const std::string& path, const StoreOptions& options) {
  const bool may_create = options.create_if_missing && !options.read_only;
  EXPUNGE_RETURN_IF_ERROR(PrepareDirectory(path, may_create));
  EXPUNGE_ASSIGN_OR_RETURN(DirectoryLock lock, options.read_only ? DirectoryLock::AcquireExisting(path)
                                                                 : DirectoryLock::Acquire(path));
  if (!options.finishing_restore) EXPUNGE_RETURN_IF_ERROR(CheckNoRestore(path));
  if (!options.read_only) EXPUNGE_RETURN_IF_ERROR(RemoveCheckpoints(path));
  auto impl = std::make_unique<Impl>(path, std::move(lock), options);
  rocksdb::DBOptions database_options = DatabaseOptions(options.env);
  database_options.create_if_missing = may_create;
  const std::string directory = absl::StrCat(path, "/records");
  EXPUNGE_RETURN_IF_ERROR(CheckFormatOf(directory, database_options));
  if (!options.read_only) impl->reserve.Prepare();
  if (options.read_only && database_options.env->FileExists(absl::StrCat(directory, "/CURRENT")).IsNotFound())
    return absl::NotFoundError(absl::StrCat("there is no database in ", path));
  EXPUNGE_RETURN_IF_ERROR(impl->OpenDatabase(directory, database_options));
  std::unique_ptr<Store> store(new Store(std::move(impl)));
  const absl::StatusOr<std::string> format = store->Get(Table::kMeta, kFormatKey);
  if (absl::IsNotFound(format.status()) && options.read_only) {
    return absl::NotFoundError(absl::StrCat("the database in ", path, " was never set up"));
  }
  if (absl::IsNotFound(format.status())) {
    Transaction mark;
    mark.Put(Table::kMeta, kFormatKey, absl::StrCat(kFormatVersion));
    EXPUNGE_RETURN_IF_ERROR(store->Commit(std::move(mark)));
  } else if (!format.ok()) {
    return format.status();
  }
  EXPUNGE_ASSIGN_OR_RETURN(store->impl_->is_new, store->HasNothingButFormat());
  return store;
}

absl::StatusOr<bool> Store::HasNothingButFormat() const {
  uint64_t records = 0;
  EXPUNGE_RETURN_IF_ERROR(
      Scan(Table::kMeta, "", "", [&records](absl::string_view, absl::string_view) { return ++records < 2; }));
  return records == 1;
}

bool Store::is_new() const { return impl_->is_new; }

absl::Status Store::Commit(Transaction transaction) {
  EXPUNGE_RETURN_IF_ERROR(impl_->CheckWritable());
  EXPUNGE_RETURN_IF_ERROR(impl_->reserve.Admit(transaction.impl_->bytes, transaction.impl_->use_reserve));
  // The last argument makes RocksDB carry 8 bytes of checksum with every entry from here to the log.
  rocksdb::WriteBatch batch(0, 0, 8, 0);
  rocksdb::Status status;
  for (const Transaction::Impl::Change& change : transaction.impl_->changes) {
    rocksdb::ColumnFamilyHandle* handle = impl_->Handle(change.table);
    status = change.put ? batch.Put(handle, change.key, change.value) : batch.Delete(handle, change.key);
    if (!status.ok()) return FromRocks(status, "build the batch");
  }
  status = impl_->database->Write(CommitOptions(), &batch);
  if (status.ok()) return absl::OkStatus();
  impl_->failed = true;
  return MakeError(Reason::kStorageFailed, "",
                   absl::StrCat("the write failed; the data is read-only until the server is restarted: ",
                                status.ToString()));
}

absl::Status Store::CheckRoom(uint64_t bytes) { return impl_->reserve.Admit(bytes, /*erases=*/false); }

absl::StatusOr<std::string> Store::Get(Table table, absl::string_view key) const {
  std::string value;
  const rocksdb::Status status =
      impl_->database->Get(LookupOptions(), impl_->Handle(table), ToSlice(key), &value);
  EXPUNGE_RETURN_IF_ERROR(FromRocks(status, "read a record"));
  return value;
}

absl::Status Store::Scan(
    Table table, absl::string_view prefix, absl::string_view first,
    const std::function<bool(absl::string_view key, absl::string_view value)>& visit) const {
  const std::unique_ptr<rocksdb::Iterator> cursor(
      impl_->database->NewIterator(LookupOptions(), impl_->Handle(table)));
  const absl::string_view start = first > prefix ? first : prefix;
  for (cursor->Seek(ToSlice(start)); cursor->Valid(); cursor->Next()) {
    if (!cursor->key().starts_with(ToSlice(prefix))) break;
    if (!visit(ToView(cursor->key()), ToView(cursor->value()))) break;
  }
  return FromRocks(cursor->status(), "scan records");
}

uint64_t Store::sequence() const { return impl_->database->GetLatestSequenceNumber(); }

absl::Status Store::EraseDeletedBytes() {
  const std::lock_guard<std::mutex> one_at_a_time(impl_->erasing);
  EXPUNGE_RETURN_IF_ERROR(impl_->CheckWritable());
  // One that could not be removed keeps what was deleted.
  EXPUNGE_RETURN_IF_ERROR(RemoveCheckpoints(impl_->directory));
  impl_->reserve.MakeRoom(SpaceToErase(*impl_->database));
  absl::Status erased = storage::EraseDeletedBytes(*impl_->database, impl_->handles);
  impl_->reserve.Prepare();
  return erased;
}

absl::StatusOr<std::unique_ptr<Checkpoint>> Store::BeginCheckpoint() {
  std::unique_lock<std::mutex> no_erasure(impl_->erasing);
  EXPUNGE_RETURN_IF_ERROR(impl_->CheckWritable());
  return Checkpoint::Begin(*impl_->database, impl_->handles, impl_->directory, std::move(no_erasure));
}

std::vector<absl::Status> Store::CheckTableFiles() const {
  std::vector<rocksdb::LiveFileMetaData> tables;
  impl_->database->GetLiveFilesMetaData(&tables);
  std::vector<absl::Status> errors;
  for (const rocksdb::LiveFileMetaData& table : tables) {
    const rocksdb::Options options(rocksdb::DBOptions(impl_->database->GetDBOptions()), FamilyOptions());
    rocksdb::SstFileReader reader(options);
    rocksdb::Status status = reader.Open(absl::StrCat(table.directory, "/", table.relative_filename));
    if (status.ok()) status = reader.VerifyChecksum(LookupOptions());
    if (status.ok()) continue;
    errors.push_back(FromRocks(status, absl::StrCat("read the file ", table.relative_filename,
                                                    " of the table ", table.column_family_name)));
  }
  return errors;
}

bool Store::writable() const { return !impl_->failed && !impl_->read_only; }

}  // namespace expunge::storage
