// SIGKILL at every step of a restore, the deletions that it carries out again among them: what is half
// restored is not served, and the restore that is begun anew ends as one that was never cut off.
//
// This program runs itself as a child, which restores and has the step in its environment.
// EXPUNGE_EVERY_STEP=1: at every time that a step is passed, and not only the first and the last time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fault_point.h"
#include "server/core/restore.h"
#include "tests/server/core/service_fixture.h"

namespace expunge::core {
namespace {

namespace fs = std::filesystem;

constexpr char kChildFlag[] = "--restore";

int RestoreIn(const std::string& directory) {
  RestoreOptions options;
  options.backup = {directory + "/backup-database", directory + "/backup-vault"};
  options.to.directory = directory + "/restored/data";
  options.to.master_key_file = directory + "/master.key";
  options.ledger_copy_file = directory + "/ledger";
  const auto report = Restore(options,
                              {certificate::KeyInFile(directory + "/certificate_key.pem"),
                               certificate::KeyInFile(directory + "/checkpoint_key.pem")},
                              SystemClock());
  if (report.ok()) return 0;
  std::fprintf(stderr, "%s\n", report.status().ToString().c_str());
  return 1;
}

class RestoreCrashTest : public ServiceTest {
 protected:
  void SetUp() override {
    if (!kHasFaultPoints) GTEST_SKIP() << "built without EXPUNGE_FAULT_POINTS";
    options_.ledger_copy_file = directory_ / "ledger";
    Open();
    Create("cells");
    Add(kMemory, MakePoints("t", 8));
    BackUp();
    ASSERT_FALSE(HasFatalFailure());
    Delete(kMemory, {"t1"});
    ASSERT_TRUE(service_->EraseBytes().ok());
    deleted_ = Delete(kMemory, {"t3", "t6"}, "delete-since");
    fingerprint_ = Full(kMemory).fingerprint();
    issued_ = Envelopes();
    ASSERT_EQ(issued_.size(), 3U);
    options_.ledger_copy_file.clear();
    Close();
  }

  // What was signed. The proofs beside it follow the log, which grows while the erasure ends.
  std::vector<std::string> Envelopes() {
    std::vector<std::string> all;
    for (const v1::Certificate& one : Certificates()) all.push_back(one.envelope());
    return all;
  }

  // Its wait status.
  int RunChild(const char* variable, const std::string& value) {
    const std::string directory = directory_.path();
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv(variable, value.c_str(), 1);
      ::execl("/proc/self/exe", "restore_child", kChildFlag, directory.c_str(), nullptr);
      ::_exit(5);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }

  // How often a restore passes each step.
  std::map<std::string, int> Steps() {
    const std::string trace = directory_ / "trace";
    EXPECT_EQ(RunChild("EXPUNGE_CRASH_TRACE", trace), 0);
    std::map<std::string, int> steps;
    std::ifstream lines(trace);
    for (std::string line; std::getline(lines, line);) ++steps[line];
    return steps;
  }

  // Puts what was restored in the place of what was lost, and checks it.
  void ExpectRestored() {
    PutInPlace("restored");
    Open();
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(Full(kMemory).token_count(), 5U);
    EXPECT_EQ(Full(kMemory).fingerprint(), fingerprint_);
    // What follows the three is the second certificate of the erasure that was pending.
    std::vector<std::string> now = Envelopes();
    ASSERT_GE(now.size(), issued_.size());
    now.resize(issued_.size());
    EXPECT_EQ(now, issued_);
    EXPECT_EQ(Delete(kMemory, {"t3", "t6"}, "delete-since").certificate().envelope(),
              deleted_.certificate().envelope());
    Close();
  }

  // Whether the restore was killed where it was to be. What it leaves is not served.
  void KillAndRestoreAgain(const std::string& place) {
    fs::remove_all(directory_ / "restored");
    const int status = RunChild("EXPUNGE_CRASH_AT", place);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    if (fs::exists(directory_ / "restored/data/restoring")) {
      ++refused_;
      storage::SealedStoreOptions half;
      half.directory = directory_ / "restored/data";
      half.master_key_file = directory_ / "master.key";
      const absl::Status opened = storage::SealedStore::Open(half).status();
      EXPECT_TRUE(absl::IsFailedPrecondition(opened)) << opened;
    }
    const bool done = place.rfind("restore.done", 0) == 0;
    ASSERT_EQ(done ? 0 : RunChild("EXPUNGE_CRASH_TRACE", directory_ / "trace"), 0);
    ExpectRestored();
  }

  v1::DeleteResponse deleted_;
  std::string fingerprint_;
  std::vector<std::string> issued_;
  int refused_ = 0;
};

TEST_F(RestoreCrashTest, ARestoreKilledAtAnyStepIsNotServedAndCanBeDoneAgain) {
  const std::map<std::string, int> steps = Steps();
  ExpectRestored();
  for (const char* const step :
       {"restore.replayed", "restore.renumbered", "restore.done", "erase.rewritten"}) {
    EXPECT_EQ(steps.count(step), 1U) << step;
  }
  int killed = 0;
  for (const auto& [step, passes] : steps) {
    for (int pass = 1; pass <= passes; ++pass) {
      if (pass > 1 && pass < passes && std::getenv("EXPUNGE_EVERY_STEP") == nullptr) continue;
      const std::string place = step + ":" + std::to_string(pass);
      SCOPED_TRACE(place);
      KillAndRestoreAgain(place);
      ASSERT_FALSE(HasFailure());
      ++killed;
    }
  }
  std::printf("killed %d times at %zu different steps; %d times a marker kept others out\n", killed,
              steps.size(), refused_);
  EXPECT_GT(refused_, 10);
}

}  // namespace
}  // namespace expunge::core

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == expunge::core::kChildFlag) {
    return expunge::core::RestoreIn(argv[2]);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
