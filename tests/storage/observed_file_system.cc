#include "tests/storage/observed_file_system.h"

#include <utility>

namespace expunge::test_support {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

IOStatus Unobserved() { return IOStatus::NotSupported("the test's file system does not observe this"); }

class ObservedFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  ObservedFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, DiskObserver* observer, std::string path,
               uint64_t number)
      : FSWritableFileOwnerWrapper(std::move(file)),
        observer_(observer),
        path_(std::move(path)),
        number_(number) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, IODebugContext* debug) override {
    IOStatus status = observer_->Before(DiskStep::kAppend, path_);
    if (status.ok()) status = FSWritableFileOwnerWrapper::Append(data, options, debug);
    if (status.ok()) observer_->Appended(number_, {data.data(), data.size()});
    return status;
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& /*verification*/, IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus PositionedAppend(const rocksdb::Slice& /*data*/, uint64_t /*offset*/, const IOOptions& /*options*/,
                            IODebugContext* /*debug*/) override {
    return Unobserved();
  }
  IOStatus PositionedAppend(const rocksdb::Slice& /*data*/, uint64_t /*offset*/, const IOOptions& /*options*/,
                            const rocksdb::DataVerificationInfo& /*verification*/,
                            IODebugContext* /*debug*/) override {
    return Unobserved();
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    IOStatus status = observer_->Before(DiskStep::kTruncate, path_);
    if (status.ok()) status = FSWritableFileOwnerWrapper::Truncate(size, options, debug);
    if (status.ok()) observer_->Truncated(number_, size);
    return status;
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    IOStatus status = observer_->Before(DiskStep::kSync, path_);
    // To the system only: no process that dies here takes the machine along.
    if (status.ok()) status = FSWritableFileOwnerWrapper::Flush(options, debug);
    if (status.ok()) observer_->Synced(number_);
    return status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override { return Sync(options, debug); }

 private:
  DiskObserver* const observer_;
  const std::string path_;  // when it was made
  const uint64_t number_;
};

class ObservedDirectory : public rocksdb::FSDirectoryWrapper {
 public:
  ObservedDirectory(std::unique_ptr<rocksdb::FSDirectory>&& directory, DiskObserver* observer,
                    std::string path)
      : FSDirectoryWrapper(std::move(directory)), observer_(observer), path_(std::move(path)) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    IOStatus status = observer_->Before(DiskStep::kSyncDirectory, path_);
    if (status.ok()) status = FSDirectoryWrapper::Fsync(options, debug);
    if (status.ok()) observer_->SyncedDirectory(path_);
    return status;
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions& /*about*/) override {
    return Fsync(options, debug);
  }

 private:
  DiskObserver* const observer_;
  const std::string path_;
};

}  // namespace

IOStatus ObservedFileSystem::NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                             std::unique_ptr<rocksdb::FSWritableFile>* result,
                                             IODebugContext* debug) {
  IOStatus status = observer_->Before(DiskStep::kCreate, path);
  if (status.ok()) status = FileSystemWrapper::NewWritableFile(path, options, result, debug);
  if (!status.ok()) return status;
  const uint64_t number = ++files_;
  observer_->Created(path, number);
  *result = std::make_unique<ObservedFile>(std::move(*result), observer_, path, number);
  return status;
}

IOStatus ObservedFileSystem::ReopenWritableFile(const std::string& /*path*/,
                                                const rocksdb::FileOptions& /*options*/,
                                                std::unique_ptr<rocksdb::FSWritableFile>* /*result*/,
                                                IODebugContext* /*debug*/) {
  return Unobserved();
}

IOStatus ObservedFileSystem::ReuseWritableFile(const std::string& /*path*/, const std::string& /*old_path*/,
                                               const rocksdb::FileOptions& /*options*/,
                                               std::unique_ptr<rocksdb::FSWritableFile>* /*result*/,
                                               IODebugContext* /*debug*/) {
  return Unobserved();
}

IOStatus ObservedFileSystem::NewRandomRWFile(const std::string& /*path*/,
                                             const rocksdb::FileOptions& /*options*/,
                                             std::unique_ptr<rocksdb::FSRandomRWFile>* /*result*/,
                                             IODebugContext* /*debug*/) {
  return Unobserved();
}

IOStatus ObservedFileSystem::Truncate(const std::string& /*path*/, size_t /*size*/,
                                      const IOOptions& /*options*/, IODebugContext* /*debug*/) {
  return Unobserved();
}

IOStatus ObservedFileSystem::RenameFile(const std::string& from, const std::string& to,
                                        const IOOptions& options, IODebugContext* debug) {
  IOStatus status = observer_->Before(DiskStep::kRename, to);
  if (status.ok()) status = FileSystemWrapper::RenameFile(from, to, options, debug);
  if (status.ok()) observer_->Renamed(from, to);
  return status;
}

IOStatus ObservedFileSystem::LinkFile(const std::string& from, const std::string& to,
                                      const IOOptions& options, IODebugContext* debug) {
  IOStatus status = observer_->Before(DiskStep::kLink, to);
  if (status.ok()) status = FileSystemWrapper::LinkFile(from, to, options, debug);
  if (status.ok()) observer_->Linked(from, to);
  return status;
}

IOStatus ObservedFileSystem::DeleteFile(const std::string& path, const IOOptions& options,
                                        IODebugContext* debug) {
  IOStatus status = observer_->Before(DiskStep::kDelete, path);
  if (status.ok()) status = FileSystemWrapper::DeleteFile(path, options, debug);
  if (status.ok()) observer_->Deleted(path);
  return status;
}

IOStatus ObservedFileSystem::NewDirectory(const std::string& path, const IOOptions& options,
                                          std::unique_ptr<rocksdb::FSDirectory>* result,
                                          IODebugContext* debug) {
  IOStatus status = FileSystemWrapper::NewDirectory(path, options, result, debug);
  if (status.ok()) *result = std::make_unique<ObservedDirectory>(std::move(*result), observer_, path);
  return status;
}

}  // namespace expunge::test_support
