// SIGKILL at any moment: nothing acknowledged is lost, nothing deleted comes back.
//
// A child process adds and deletes in a loop, and reports each operation to its parent over a pipe before it
// starts it and after it was acknowledged. The parent kills it after a while, opens the data, and checks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "tests/server/core/service_fixture.h"

namespace expunge::core {
namespace {

// What a child reported, applied to the tokens that were there before it.
struct Report {
  std::set<int> present;
  int pending = -1;  // the token of an operation that had begun and was not acknowledged
  int acknowledged = 0;
};

// A line of the report: '?' an operation begins, '!' it was acknowledged; '+' add, '-' delete; the token.
Report Parse(const std::string& text, const std::set<int>& present_before) {
  Report report{present_before};
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos;
       begin = end + 1, end = text.find('\n', begin)) {
    const std::string line = text.substr(begin, end - begin);
    const int token = std::stoi(line.substr(2));
    if (line[0] == '?') {
      report.pending = token;
      continue;
    }
    report.pending = -1;
    ++report.acknowledged;
    if (line[1] == '+') {
      report.present.insert(token);
    } else {
      report.present.erase(token);
    }
  }
  return report;
}

class CrashTest : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    Create("cells");
    Add(kMemory, MakePoints("a", 5));
  }

  void Say(int pipe, char phase, char operation, int token) {
    const std::string line = std::string{phase, operation} + std::to_string(token) + "\n";
    if (::write(pipe, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(3);
  }

  // Runs in the child, until it is killed.
  [[noreturn]] void AddAndDeleteForEver(int pipe, const std::set<int>& present_at_start) {
    if (!TryOpen().ok()) ::_exit(2);
    std::set<int> present = present_at_start;
    for (int token = 0;; token = (token + 1) % 40) {
      const std::string id = "t" + std::to_string(token);
      const bool add = present.count(token) == 0;
      Say(pipe, '?', add ? '+' : '-', token);
      bool ok = false;
      if (add) {
        ok = service_->Add(AddRequestFor(kMemory, {{id, {"s"}, 0.1 * token, 0.5, 1}})).ok();
        present.insert(token);
      } else {
        v1::DeleteRequest request;
        request.set_parent(kMemory);
        request.add_token_ids(id);
        ok = service_->Delete(request).ok();
        present.erase(token);
      }
      if (!ok) ::_exit(4);
      Say(pipe, '!', add ? '+' : '-', token);
    }
  }

  // Starts a child, kills it after `delay`, and returns what it had reported.
  std::string RunAndKill(const std::set<int>& present, std::chrono::milliseconds delay) {
    Close();
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      AddAndDeleteForEver(ends[1], present);
    }
    ::close(ends[1]);
    std::string text(1, '\0');
    // The clock starts with the first report: opening takes a while.
    EXPECT_EQ(::read(ends[0], text.data(), 1), 1);
    std::this_thread::sleep_for(delay);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << status;
    char buffer[4096];
    for (ssize_t count = 0; (count = ::read(ends[0], buffer, sizeof(buffer))) > 0;) {
      text.append(buffer, static_cast<size_t>(count));
    }
    ::close(ends[0]);
    return text;
  }
};

TEST_F(CrashTest, KillingTheProcessLosesNothingThatWasAcknowledged) {
  constexpr uint32_t kSeed = 77;
  constexpr int kRounds = 12;
  std::mt19937 generator(kSeed);
  std::uniform_int_distribution<int> delay_ms(30, 400);
  std::set<int> present;
  int acknowledged = 0;
  int interrupted = 0;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const Report report = Parse(RunAndKill(present, std::chrono::milliseconds(delay_ms(generator))), present);
    acknowledged += report.acknowledged;
    Open();  // recovers by solving everything again
    std::set<int> found;
    for (const v1::TokenInfo& token : Tokens(kMemory)) {
      const std::string id = token.name().substr(token.name().rfind('/') + 1);
      if (id[0] == 't') found.insert(std::stoi(id.substr(1)));
    }
    std::set<int> expected = report.present;
    if (report.pending >= 0) {
      // The operation in flight is there as a whole, or not at all.
      ++interrupted;
      expected.erase(report.pending);
      if (found.count(report.pending) > 0) expected.insert(report.pending);
    }
    EXPECT_EQ(found, expected);
    present = found;
  }
  EXPECT_GT(acknowledged, kRounds);
  std::printf("%d operations acknowledged, %d interrupted, seed %u\n", acknowledged, interrupted, kSeed);
}

}  // namespace
}  // namespace expunge::core
