// SIGKILL at every step of making a backup and of restoring one, and what the next start makes of it.
//
// This program runs itself as a child, which has the name of the step in its environment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>

#include "base/fault_point.h"
#include "storage/backup.h"
#include "tests/storage/backup_support.h"
#include "tests/storage/canary.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

constexpr char kBackUp[] = "--back-up";
constexpr char kRestore[] = "--restore";

SealedStoreOptions Restored(const std::string& directory) {
  SealedStoreOptions to = Under(directory + "/new");
  to.master_key_file = directory + "/live/master.key";
  return to;
}

// The children.

int BackUpIn(const std::string& directory) {
  const auto store = SealedStore::Open(Under(directory + "/live"));
  return store.ok() && BackUp(**store, PlacesUnder(directory), absl::Now()).ok() ? 0 : 1;
}

int RestoreIn(const std::string& directory) {
  const SealedStoreOptions to = Restored(directory);
  if (!BeginRestore(PlacesUnder(directory), to).ok()) return 1;
  return FinishRestore(to).ok() ? 0 : 1;
}

// How it ends: its wait status.
int RunChild(const char* what, const std::string& directory, const char* variable, const std::string& value) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv(variable, value.c_str(), 1);
    ::execl("/proc/self/exe", "backup_child", what, directory.c_str(), nullptr);
    ::_exit(5);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

bool Killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

class BackupCrashTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kHasFaultPoints) GTEST_SKIP() << "built without EXPUNGE_FAULT_POINTS";
    fs::create_directories(original_ + "/live");
    const auto store = OpenSealed(Under(original_ + "/live"));
    ASSERT_NE(store, nullptr);
    PutRecords(store->database());
    ASSERT_TRUE(store->database().EraseDeletedBytes().ok());
  }

  // A copy of the original to work in.
  std::string Copy(const std::string& name) {
    const std::string copy = directory_ / name;
    fs::copy(original_, copy, fs::copy_options::recursive);
    return copy;
  }
  // The steps with this prefix that a child passes, each once. The child's work is left in place.
  std::set<std::string> Steps(const char* what, const std::string& in, const std::string& prefix) {
    const std::string trace = directory_ / "trace";
    EXPECT_EQ(RunChild(what, in, "EXPUNGE_CRASH_TRACE", trace), 0);
    std::set<std::string> steps;
    std::ifstream lines(trace);
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind(prefix, 0) == 0) steps.insert(line);
    }
    fs::remove(trace);
    return steps;
  }
  static bool HasCheckpoint(const std::string& live) {
    for (const auto& entry : fs::directory_iterator(live + "/db")) {
      if (entry.path().filename().string().rfind("backup-", 0) == 0) return true;
    }
    return false;
  }

  test_support::TemporaryDirectory directory_;
  const std::string original_ = directory_ / "original";
};

TEST_F(BackupCrashTest, NothingDeletedSurvivesABackupThatWasCutShort) {
  const std::set<std::string> steps = Steps(kBackUp, Copy("traced"), "backup.");
  EXPECT_GE(steps.size(), 7U);
  int leftovers = 0;
  for (const std::string& step : steps) {
    SCOPED_TRACE(step);
    const std::string in = Copy(step);
    ASSERT_TRUE(Killed(RunChild(kBackUp, in, "EXPUNGE_CRASH_AT", step)));
    leftovers += HasCheckpoint(in + "/live") ? 1 : 0;
    EXPECT_EQ(VerifyBackup(PlacesUnder(in)).ok(), step == "backup.done");
    const auto store = OpenSealed(Under(in + "/live"));
    ASSERT_NE(store, nullptr);
    EXPECT_FALSE(HasCheckpoint(in + "/live"));
    EXPECT_FALSE(Found(in + "/live", RawCanaries()).empty());  // the control
    DeleteCanaries(store->database());
    const absl::Status erased = store->database().EraseDeletedBytes();
    EXPECT_TRUE(erased.ok()) << erased;
    EXPECT_THAT(test_support::SearchFiles(in + "/live", EncodedCanaries()), IsEmpty());
    ExpectOnlySurvivors(store->database());
    // At other places it can be made again.
    EXPECT_TRUE(BackUp(*store, {in + "/database2", in + "/vault2"}, absl::Now()).ok());
  }
  std::printf("%zu steps, a checkpoint was left at %d of them\n", steps.size(), leftovers);
  EXPECT_GE(leftovers, 2);
}

TEST_F(BackupCrashTest, ARestoreThatWasCutShortIsFinishedByTheNext) {
  ASSERT_EQ(RunChild(kBackUp, original_, "EXPUNGE_CRASH_AT", "none"), 0);
  const std::set<std::string> steps = Steps(kRestore, Copy("traced"), "restore.");
  EXPECT_GE(steps.size(), 5U);
  for (const std::string& step : steps) {
    SCOPED_TRACE(step);
    const std::string in = Copy(step);
    ASSERT_TRUE(Killed(RunChild(kRestore, in, "EXPUNGE_CRASH_AT", step)));
    const SealedStoreOptions to = Restored(in);
    if (step == "restore.done") {
      EXPECT_TRUE(SealedStore::Open(to).ok());
      continue;
    }
    EXPECT_TRUE(absl::IsFailedPrecondition(SealedStore::Open(to).status()));
    // And a second kill, while what the first left is removed.
    EXPECT_TRUE(Killed(RunChild(kRestore, in, "EXPUNGE_CRASH_AT", "restore.cleared")));
    EXPECT_TRUE(absl::IsFailedPrecondition(SealedStore::Open(to).status()));
    EXPECT_EQ(RunChild(kRestore, in, "EXPUNGE_CRASH_AT", "none"), 0);
    const auto store = OpenSealed(to);
    ASSERT_NE(store, nullptr);
    for (const Table table : AllTables()) {
      EXPECT_EQ(store->database().Get(table, CanaryKey(table)).value_or(""), CanaryValue(table));
    }
  }
}

}  // namespace
}  // namespace expunge::storage

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == expunge::storage::kBackUp) {
    return expunge::storage::BackUpIn(argv[2]);
  }
  if (argc == 3 && std::string(argv[1]) == expunge::storage::kRestore) {
    return expunge::storage::RestoreIn(argv[2]);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
