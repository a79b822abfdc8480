// A copy of the database as of one moment, made of hard links: what a backup copies from.
//
// It lies in a directory `backup-...` beside the database's own. Its links keep files on the disk whatever
// is deleted: Store::EraseDeletedBytes waits while there is one, and Store::Open removes those that a crash
// left.
#ifndef EXPUNGE_STORAGE_CHECKPOINT_H_
#define EXPUNGE_STORAGE_CHECKPOINT_H_

#include <rocksdb/db.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace expunge::storage {

// Threads: one at a time; always the one that began it.
class Checkpoint {
 public:
  // Writes out what is in memory alone, so that Link has little to do. `directory`: the store's.
  // `no_erasure` is released at the end. Returns: kStorageFailed, also if the disk is nearly full: a flush
  // that fails would make the database read-only.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Checkpoint>> Begin(
      rocksdb::DB& database, absl::Span<rocksdb::ColumnFamilyHandle* const> families,
      const std::string& directory, std::unique_lock<std::mutex> no_erasure);
  // Removes it, if Remove has not.
  ~Checkpoint();
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  // Makes the links. REQUIRES: no change meanwhile; called once. Returns: kStorageFailed.
  [[nodiscard]] absl::Status Link();
  // Removes them, durably, and lets erasures go on.
  [[nodiscard]] absl::Status Remove();

  // After Link: where it is, and the number of its last change.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] uint64_t sequence() const { return sequence_; }
  // Free space where `folder` is; the largest number if the system does not tell.
  [[nodiscard]] absl::StatusOr<uint64_t> FreeSpace(const std::string& folder) const;

 private:
  Checkpoint(rocksdb::DB& database, std::string directory, std::unique_lock<std::mutex> no_erasure);

  rocksdb::DB& database_;
  const std::string directory_;
  const std::string path_;
  std::unique_lock<std::mutex> no_erasure_;
  uint64_t sequence_ = 0;
};

// Removes every checkpoint in a store's directory. REQUIRES: none is in use. Returns: kStorageFailed.
[[nodiscard]] absl::Status RemoveCheckpoints(const std::string& directory);

// Opens a copy of a database for reading, and verifies the checksum of every block. Writes nothing.
// Returns: DataLoss (kStorageCorrupt) if one is damaged; kStorageFailed.
[[nodiscard]] absl::Status CheckDatabaseCopy(const std::string& path);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_CHECKPOINT_H_
