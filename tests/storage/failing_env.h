// A RocksDB environment whose log files fail to sync or to take bytes on demand: a disk that breaks.
#ifndef EXPUNGE_TESTS_STORAGE_FAILING_ENV_H_
#define EXPUNGE_TESTS_STORAGE_FAILING_ENV_H_

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace expunge::testing {

struct Faults {
  std::atomic<bool> sync = false;
  std::atomic<bool> append = false;
};

class FailingLogFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FailingLogFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, const Faults* faults)
      : FSWritableFileOwnerWrapper(std::move(file)), faults_(faults) {}

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    if (faults_->append) return rocksdb::IOStatus::NoSpace("injected: no space");
    return FSWritableFileOwnerWrapper::Append(data, options, debug);
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& verification,
                           rocksdb::IODebugContext* debug) override {
    if (faults_->append) return rocksdb::IOStatus::NoSpace("injected: no space");
    return FSWritableFileOwnerWrapper::Append(data, options, verification, debug);
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    if (faults_->sync) return rocksdb::IOStatus::IOError("injected: sync failed");
    return FSWritableFileOwnerWrapper::Sync(options, debug);
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    if (faults_->sync) return rocksdb::IOStatus::IOError("injected: sync failed");
    return FSWritableFileOwnerWrapper::Fsync(options, debug);
  }

 private:
  const Faults* faults_;
};

class FailingFileSystem : public rocksdb::FileSystemWrapper {
 public:
  explicit FailingFileSystem(const Faults* faults)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), faults_(faults) {}
  const char* Name() const override { return "FailingFileSystem"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override {
    rocksdb::IOStatus status = FileSystemWrapper::NewWritableFile(name, options, result, debug);
    const bool is_log = name.size() > 4 && name.compare(name.size() - 4, 4, ".log") == 0;
    if (status.ok() && is_log) *result = std::make_unique<FailingLogFile>(std::move(*result), faults_);
    return status;
  }

 private:
  const Faults* faults_;
};

// Both must outlive every store that uses the environment.
inline std::unique_ptr<rocksdb::Env> MakeFailingEnv(const Faults* faults) {
  return rocksdb::NewCompositeEnv(std::make_shared<FailingFileSystem>(faults));
}

}  // namespace expunge::testing

#endif  // EXPUNGE_TESTS_STORAGE_FAILING_ENV_H_
