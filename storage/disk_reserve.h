// Disk space that is kept for erasures: a file of a fixed size beside the database, given up when the disk is
// full and what is written erases something.
//
// Every other change is refused already while there is still room: so a Delete always finds space for its log
// entry, and the database for the table files that it writes in between. Both together are bounded by half of
// the reserve.
#ifndef EXPUNGE_STORAGE_DISK_RESERVE_H_
#define EXPUNGE_STORAGE_DISK_RESERVE_H_

#include <rocksdb/env.h>

#include <cstdint>
#include <mutex>
#include <string>

#include "absl/status/status.h"

namespace expunge::storage {

// Threads: any number at once.
class DiskReserve {
 public:
  // Of `bytes` in the file `path`; 0: none, and every change is admitted. `env` says how much space is free,
  // and outlives it.
  DiskReserve(std::string path, uint64_t bytes, rocksdb::Env* env);

  // To be called before the database is opened, which may have to write, and after MakeRoom. Gives the
  // reserve up if the disk is full; makes it, if there is ample room. Never fails: without a reserve there
  // are only fewer bytes left.
  void Prepare();

  // For an erasure of another kind: gives the reserve up if fewer than `bytes` are free.
  void MakeRoom(uint64_t bytes);

  // Whether a change of `bytes` may be written. One that erases may have all that is left; for it the reserve
  // is given up if need be. Makes the reserve again once there is room. Cost: one look at the file system.
  // Returns: kDiskFull.
  [[nodiscard]] absl::Status Admit(uint64_t bytes, bool erases);

 private:
  // Both with mutex_ held.
  void Make();
  void GiveUp();
  // UINT64_MAX if the file system doesn't say.
  [[nodiscard]] uint64_t Free() const;

  const std::string path_;
  const uint64_t bytes_;
  rocksdb::Env* const env_;
  std::mutex mutex_;
  bool held_ = false;
  bool possible_ = true;  // false: the file system cannot promise blocks
};

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_DISK_RESERVE_H_
