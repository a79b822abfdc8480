// SIGKILL at sampled file operations of EraseDeletedBytes: after reopening the survivors are there, the
// deleted are not, and erasing again finishes the work.
//
// This program runs itself as a child, which opens the store with a file system that kills the process at its
// n-th operation after the erasing began, and erases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "storage/store.h"
#include "tests/storage/canary.h"
#include "tests/support/byte_search.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

constexpr char kChildFlag[] = "--erase-until-operation";
// A child that reached its end: there are no more operations.
constexpr int kFinished = 42;

// Dies when a file is about to be made, renamed or deleted for the n-th time since it was armed.
class KillingFileSystem : public rocksdb::FileSystemWrapper {
 public:
  KillingFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "KillingFileSystem"; }
  void Arm(int operations) { left_ = operations; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override {
    Count();
    return FileSystemWrapper::NewWritableFile(name, options, result, debug);
  }
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override {
    Count();
    return FileSystemWrapper::DeleteFile(name, options, debug);
  }
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    Count();
    return FileSystemWrapper::RenameFile(from, to, options, debug);
  }

 private:
  void Count() {
    if (left_ > 0 && --left_ == 0) ::kill(::getpid(), SIGKILL);
  }
  std::atomic<int> left_ = 0;
};

int EraseUntil(const std::string& path, int operation) {
  const auto file_system = std::make_shared<KillingFileSystem>();
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(file_system);
  StoreOptions options;
  options.env = env.get();
  auto store = Store::Open(path, options);
  if (!store.ok()) return 2;
  DeleteCanaries(**store);
  file_system->Arm(operation);
  if (!(*store)->EraseDeletedBytes().ok()) return 3;
  file_system->Arm(0);
  store->reset();
  return kFinished;
}

// Returns whether the child was killed.
bool RunChild(const std::string& path, int operation) {
  const std::string number = std::to_string(operation);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/proc/self/exe", "erase_child", kChildFlag, path.c_str(), number.c_str(), nullptr);
    ::_exit(5);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return true;
  EXPECT_EQ(WEXITSTATUS(status), kFinished);
  return false;
}

TEST(StoreEraseCrashTest, ErasesAgainAfterAKillAtAnyOperation) {
  constexpr int kStride = 7;
  const test_support::TemporaryDirectory directory;
  const std::string original = directory / "original";
  {
    const auto store = OpenStore(original);
    PutRecords(*store);
    ASSERT_TRUE(store->EraseDeletedBytes().ok());  // all in the last level
  }
  int killed = 0;
  int found_after_kill = 0;
  for (int operation = 1;; operation += kStride) {
    SCOPED_TRACE(operation);
    const std::string path = directory / std::to_string(operation);
    fs::copy(original, path, fs::copy_options::recursive);
    const bool was_killed = RunChild(path, operation);
    ASSERT_FALSE(HasFailure());
    killed += was_killed ? 1 : 0;
    const bool found = !Found(path, RawCanaries()).empty();
    found_after_kill += found ? 1 : 0;
    EXPECT_TRUE(was_killed || !found);
    const auto store = OpenStore(path);
    ASSERT_NE(store, nullptr);
    ExpectOnlySurvivors(*store);
    const absl::Status erased = store->EraseDeletedBytes();
    ASSERT_TRUE(erased.ok()) << erased;
    EXPECT_THAT(test_support::SearchFiles(path, EncodedCanaries()), IsEmpty());
    ExpectOnlySurvivors(*store);
    if (!was_killed) break;
  }
  std::printf("killed %d times, canary still there after %d of them\n", killed, found_after_kill);
  EXPECT_GT(killed, 10);
  EXPECT_GT(found_after_kill, 5);
}

}  // namespace
}  // namespace expunge::storage

int main(int argc, char** argv) {
  int operation = 0;
  if (argc == 4 && std::string(argv[1]) == expunge::storage::kChildFlag &&
      absl::SimpleAtoi(argv[3], &operation)) {
    return expunge::storage::EraseUntil(argv[2], operation);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
