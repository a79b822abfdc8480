// SIGKILL at any moment: nothing acknowledged is lost, nothing deleted comes back.
//
// This program runs itself as a child, which adds and deletes in a loop and reports each operation over a
// pipe, before it starts it and after it was acknowledged. The parent kills it after a while, opens the data
// and checks.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "tests/server/core/service_fixture.h"

namespace expunge::core {
namespace {

constexpr char kChildFlag[] = "--add-and-delete-until-killed";

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

std::set<int> PresentTokens(Service& service) {
  v1::ListTokensRequest request;
  request.set_parent(kMemory);
  request.set_page_size(1000);
  const auto tokens = service.ListTokens(request);
  EXPECT_TRUE(tokens.ok()) << tokens.status();
  std::set<int> present;
  for (const v1::TokenInfo& token : tokens->tokens()) {
    const std::string id = token.name().substr(token.name().rfind('/') + 1);
    if (id[0] == 't') present.insert(std::stoi(id.substr(1)));
  }
  return present;
}

void Say(char phase, char operation, int token) {
  const std::string line = std::string{phase, operation} + std::to_string(token) + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(3);
}

absl::Status Toggle(Service& service, int token, bool add) {
  const std::string id = "t" + std::to_string(token);
  if (add) return service.Add(AddRequestFor(kMemory, {{id, {"s"}, 0.1 * token, 0.5, 1}})).status();
  v1::DeleteRequest request;
  request.set_parent(kMemory);
  request.add_token_ids(id);
  return service.Delete(request).status();
}

// The child: adds and deletes until it is killed. Returns only on an error.
int AddAndDelete(const std::string& data, const std::string& key_file) {
  constexpr int kTokens = 40;
  auto store = storage::SealedStore::Open({data, "", "", {}});
  if (!store.ok()) return 2;
  const auto service = Service::Open(
      *std::move(store), {certificate::KeyInFile(key_file), certificate::KeyInFile(key_file + ".checkpoint")},
      SystemClock());
  if (!service.ok()) return 2;
  std::set<int> present = PresentTokens(**service);
  for (int token = 0;; token = (token + 1) % kTokens) {
    const bool add = present.count(token) == 0;
    const char operation = add ? '+' : '-';
    Say('?', operation, token);
    if (!Toggle(**service, token, add).ok()) return 4;
    Say('!', operation, token);
    if (add) {
      present.insert(token);
    } else {
      present.erase(token);
    }
  }
}

class CrashTest : public ServiceTest {
 protected:
  void SetUp() override {
    key_file_ = KeyFile();
    checkpoint_key_file_ = KeyFile() + ".checkpoint";
    ServiceTest::SetUp();
    Create("cells");
    Add(kMemory, MakePoints("a", 5));
  }

  [[nodiscard]] std::string KeyFile() const { return directory_ / "key.pem"; }

  // Starts a child, kills it `delay` after its first report, and returns all that it reported.
  std::string RunAndKill(std::chrono::milliseconds delay) {
    Close();
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const std::string data = directory_ / "data";
    const std::string key_file = KeyFile();
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::execl("/proc/self/exe", "crash_child", kChildFlag, data.c_str(), key_file.c_str(), nullptr);
      ::_exit(5);
    }
    ::close(ends[1]);
    std::string text(1, '\0');
    EXPECT_EQ(::read(ends[0], text.data(), 1), 1);
    std::this_thread::sleep_for(delay);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << status;
    std::array<char, 4096> buffer{};
    for (ssize_t count = 0; (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<size_t>(count));
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
    const Report report = Parse(RunAndKill(std::chrono::milliseconds(delay_ms(generator))), present);
    acknowledged += report.acknowledged;
    Open();  // recovers by solving everything again
    const std::set<int> found = PresentTokens(*service_);
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

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == expunge::core::kChildFlag) {
    return expunge::core::AddAndDelete(argv[2], argv[3]);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
