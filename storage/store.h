// Durable records: one RocksDB database, a column family for each kind of record.
//
// Every change is one Transaction: it is written as one synced batch across all column families, so that
// after a crash either all of it is there or nothing. Keys are byte strings in ascending order; values are
// serialised protobuf messages (storage/records.proto) whose bytes are guarded by RocksDB's checksums. This
// layer knows bytes, not meaning.
//
// Invariants.  (1) Commit returned OK => the batch survives any crash. (2) Commit failed => nothing of the
// batch is visible, and the store refuses every later Commit until it is reopened (a failed sync says nothing
// about the disk: then the batch is there as a whole, or not at all). (3) The format version is checked
// before anything else is read.
#ifndef EXPUNGE_STORAGE_STORE_H_
#define EXPUNGE_STORAGE_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rocksdb {
class Env;
}

namespace expunge::storage {

class Checkpoint;

// The format of the records that this program reads and writes (docs/formats/records.md). It refuses newer
// ones, and the older ones, whose certificates are in no log.
inline constexpr uint64_t kFormatVersion = 4;

// The column families.
enum class Table { kMeta, kMemories, kTokens, kStates, kCertificates, kRequests, kErasures, kLog };
inline constexpr Table kLastTable = Table::kLog;

// A batch of changes, applied in order. Threads: one at a time.
class Transaction {
 public:
  Transaction();
  ~Transaction();
  Transaction(Transaction&&) noexcept;
  Transaction& operator=(Transaction&&) noexcept;

  void Put(Table table, absl::string_view key, absl::string_view value);
  void Delete(Table table, absl::string_view key);
  // For a change that erases: it may have the disk space that is kept for such (disk_reserve.h).
  void UseReserve();

 private:
  friend class Store;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct StoreOptions {
  // The directory (mode 0700), those above it, and the database.
  bool create_if_missing = true;
  // The operating system as RocksDB sees it; null: the real one. Fault tests put a failing one here; it must
  // outlive the store.
  rocksdb::Env* env = nullptr;
  // For the rest of a restore (backup.h): opens although its marker is there.
  bool finishing_restore = false;
  // For tools that only look: makes nothing, changes not a byte of the directory, and refuses every change.
  // The lock is held all the same, so that no server runs meanwhile.
  bool read_only = false;
  // Disk space that is kept for erasures (disk_reserve.h). Other changes are refused while less than half as
  // much is free. 0: none.
  uint64_t reserve_bytes = 0;
};

// Threads: any number at once; Commits are ordered by the caller.
class Store {
 public:
  // Removes what a crash left of a backup. Returns: FailedPrecondition if another process has it open, a
  // restore was interrupted, or its format is another (the message says which, and what to do); NotFound (for
  // reading alone, also if it was never served), DataLoss, Unavailable as RocksDB reports.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& path,
                                                                   const StoreOptions& options = {});
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Whether Open made it: nothing was ever committed but the format.
  [[nodiscard]] bool is_new() const;

  // Writes the batch and syncs it. Cost: one fsync. Returns: Unavailable (kStorageFailed), see invariant 2;
  // kDiskFull: nothing was written, and the store goes on.
  [[nodiscard]] absl::Status Commit(Transaction transaction);

  // Whether a change of `bytes` that erases nothing would be admitted now: to be asked before keys are taken
  // for it, as a change that is refused keeps them until the next start. Returns: kDiskFull.
  [[nodiscard]] absl::Status CheckRoom(uint64_t bytes);

  // NotFound if there is no such key; DataLoss if the block is damaged.
  [[nodiscard]] absl::StatusOr<std::string> Get(Table table, absl::string_view key) const;

  // Calls `visit(key, value)` for every key that begins with `prefix` and is >= `first`, in ascending order,
  // until it returns false. A consistent view of one moment.
  [[nodiscard]] absl::Status Scan(
      Table table, absl::string_view prefix, absl::string_view first,
      const std::function<bool(absl::string_view key, absl::string_view value)>& visit) const;

  // RocksDB's number of the last change that is in the database: it rises with every Commit, survives
  // restarts, and is lower in an older copy of the directory.
  [[nodiscard]] uint64_t sequence() const;

  // Makes sure that no file of the database holds anything that was deleted or overwritten by a Commit that
  // returned before this call: flushes every column family, rewrites every table file down to the last level
  // (the default moves files and leaves their bytes), begins a new MANIFEST, and removes the old logs.
  // Commits and reads go on meanwhile. What the file system and the drive keep of freed blocks is beyond it
  // (docs/threat_model.md). Cost: the database is read and written once; while it runs, up to its size again
  // on the disk. Returns: kStorageFailed if it could not be done, or a file that must go is still there (a
  // reader holds it, or nobody knows what it is): the claim must not be made, and the call may be repeated;
  // DataLoss if a table is damaged.
  [[nodiscard]] absl::Status EraseDeletedBytes();

  // Prepares a copy of the files as of one moment (checkpoint.h), which must go before the store does. Waits
  // for a running EraseDeletedBytes, and holds off the next. Returns: kStorageFailed.
  [[nodiscard]] absl::StatusOr<std::unique_ptr<Checkpoint>> BeginCheckpoint();

  // Reads every table file of the database and verifies the checksum of every block. One error for each file
  // that has something wrong, naming it; none for what is still in the log, which Open has read. Cost: reads
  // the database once.
  [[nodiscard]] std::vector<absl::Status> CheckTableFiles() const;

  // False after a failed Commit: read-only until reopened. False if opened for reading alone.
  [[nodiscard]] bool writable() const;

 private:
  // The first change of a new directory puts records into kMeta.
  [[nodiscard]] absl::StatusOr<bool> HasNothingButFormat() const;

  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_STORE_H_
