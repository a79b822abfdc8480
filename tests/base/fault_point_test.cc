// The points themselves. This program runs itself as a child, with the environment that is to be obeyed.
#include "base/fault_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace expunge {
namespace {

constexpr int kSurvived = 7;
constexpr int kMutated = 8;

// How a child ends that passes the points a, b, a, with this setting: its wait status.
int Child(const char* variable, const std::string& value) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv(variable, value.c_str(), 1);
    CrashPoint("a");
    CrashPoint("b");
    CrashPoint("a");
    ::_exit(Mutated("step") ? kMutated : kSurvived);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

bool Killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

class FaultPointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kHasFaultPoints) GTEST_SKIP() << "built without EXPUNGE_FAULT_POINTS";
  }
};

TEST_F(FaultPointTest, TheNamedPointKillsWhenItIsPassedAsOftenAsAsked) {
  EXPECT_TRUE(Killed(Child("EXPUNGE_CRASH_AT", "a")));
  EXPECT_TRUE(Killed(Child("EXPUNGE_CRASH_AT", "b:1")));
  EXPECT_TRUE(Killed(Child("EXPUNGE_CRASH_AT", "a:2")));
  EXPECT_EQ(WEXITSTATUS(Child("EXPUNGE_CRASH_AT", "a:3")), kSurvived);
  EXPECT_EQ(WEXITSTATUS(Child("EXPUNGE_CRASH_AT", "c")), kSurvived);
}

TEST_F(FaultPointTest, TheTraceHasEveryPointInOrder) {
  const std::string file = ::testing::TempDir() + "/trace-" + std::to_string(::getpid());
  EXPECT_EQ(WEXITSTATUS(Child("EXPUNGE_CRASH_TRACE", file)), kSurvived);
  std::ostringstream content;
  content << std::ifstream(file).rdbuf();
  EXPECT_EQ(content.str(), "a\nb\na\n");
  ::unlink(file.c_str());
}

TEST_F(FaultPointTest, AMutationIsOneOfThoseNamed) {
  for (const char* names : {"step", "another,step", "step,another"}) {
    EXPECT_EQ(WEXITSTATUS(Child("EXPUNGE_MUTATION", names)), kMutated) << names;
  }
  for (const char* names : {"another", "steps", "ste", "", ",", "a step"}) {
    EXPECT_EQ(WEXITSTATUS(Child("EXPUNGE_MUTATION", names)), kSurvived) << names;
  }
}

}  // namespace
}  // namespace expunge
