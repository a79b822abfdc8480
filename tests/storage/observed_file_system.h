// A RocksDB file system that asks before each step that changes the disk, and tells after it.
#ifndef EXPUNGE_TESTS_STORAGE_OBSERVED_FILE_SYSTEM_H_
#define EXPUNGE_TESTS_STORAGE_OBSERVED_FILE_SYSTEM_H_

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/io_status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace expunge::test_support {

enum class DiskStep { kCreate, kAppend, kTruncate, kSync, kRename, kLink, kDelete, kSyncDirectory };

// Threads: RocksDB calls from several at once.
class DiskObserver {
 public:
  virtual ~DiskObserver() = default;
  // An error instead of the step: it is not carried out, and RocksDB gets the error.
  virtual rocksdb::IOStatus Before(DiskStep step, const std::string& path) = 0;
  // What was carried out. A file keeps its number whatever its name becomes.
  virtual void Created(const std::string& path, uint64_t file) {}
  virtual void Appended(uint64_t file, absl::string_view data) {}
  virtual void Truncated(uint64_t file, size_t size) {}
  virtual void Synced(uint64_t file) {}
  virtual void Renamed(const std::string& from, const std::string& to) {}
  virtual void Linked(const std::string& from, const std::string& to) {}
  virtual void Deleted(const std::string& path) {}
  virtual void SyncedDirectory(const std::string& path) {}
};

class ObservedFileSystem : public rocksdb::FileSystemWrapper {
 public:
  // `observer` must outlive it.
  explicit ObservedFileSystem(DiskObserver* observer)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), observer_(observer) {}
  const char* Name() const override { return "ObservedFileSystem"; }

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  // Ways to write that the store does not use, and that would not be observed.
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* result,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Truncate(const std::string& path, size_t size, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;

  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* debug) override;

 private:
  DiskObserver* const observer_;
  std::atomic<uint64_t> files_ = 0;
};

}  // namespace expunge::test_support

#endif  // EXPUNGE_TESTS_STORAGE_OBSERVED_FILE_SYSTEM_H_
