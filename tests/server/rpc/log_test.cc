#include "server/rpc/log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/files.h"

namespace expunge::rpc {
namespace {

std::vector<nlohmann::json> Lines(const std::string& path) {
  std::vector<nlohmann::json> lines;
  const std::string text = test_support::ReadWholeFile(path);
  EXPECT_TRUE(text.empty() || text.back() == '\n');
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    lines.push_back(nlohmann::json::parse(std::string(line), nullptr, false));
    EXPECT_TRUE(lines.back().is_object()) << line;
  }
  return lines;
}

TEST(LogTest, WritesOneJsonObjectALine) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory / "log";
  const auto log = Log::Open({LogLevel::kInfo, path});
  ASSERT_TRUE(log.ok()) << log.status();
  (*log)->Write(LogLevel::kError, "failed",
                {"Service.Method", "INTERNAL", "NONE", "4bf92f3577b34da6a3ce929d0e0e4736", 42});
  (*log)->Write(LogLevel::kInfo, "two\nlines, \"quoted\", and \xff no UTF-8 {}");
  const auto lines = Lines(path);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["level"], "error");
  EXPECT_EQ(lines[0]["message"], "failed");
  EXPECT_EQ(lines[0]["method"], "Service.Method");
  EXPECT_EQ(lines[0]["code"], "INTERNAL");
  EXPECT_EQ(lines[0]["reason"], "NONE");
  EXPECT_EQ(lines[0]["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(lines[0]["latency_us"], 42);
  EXPECT_FALSE(lines[1].contains("method"));
  absl::Time time;
  std::string problem;
  const std::string stamp = lines[1]["time"];
  ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full, stamp, &time, &problem)) << stamp << problem;
  EXPECT_EQ(stamp.size(), std::string("2026-01-01T00:00:00.000000Z").size());
  EXPECT_LT(absl::AbsDuration(absl::Now() - time), absl::Minutes(1));
}

TEST(LogTest, DropsWhatIsBelowTheLevel) {
  const test_support::TemporaryDirectory directory;
  const auto log = Log::Open({LogLevel::kWarning, directory / "log"});
  ASSERT_TRUE(log.ok());
  for (const LogLevel level : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    (*log)->Write(level, "line");
  }
  const auto lines = Lines(directory / "log");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["level"], "warning");
  EXPECT_EQ(lines[1]["level"], "error");
}

TEST(LogTest, LinesFromManyThreadsStayWhole) {
  const test_support::TemporaryDirectory directory;
  const auto log = Log::Open({LogLevel::kInfo, directory / "log"});
  ASSERT_TRUE(log.ok());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&log] {
      for (int j = 0; j < 250; ++j) (*log)->Write(LogLevel::kInfo, std::string(300, 'x'));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(Lines(directory / "log").size(), 1000U);
}

TEST(LogTest, TheFileIsForItsOwnerAloneAndIsAppendedTo) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory / "log";
  for (int run = 0; run < 2; ++run) {
    const auto log = Log::Open({LogLevel::kInfo, path});
    ASSERT_TRUE(log.ok());
    (*log)->Write(LogLevel::kInfo, "run");
  }
  EXPECT_EQ(Lines(path).size(), 2U);
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(LogTest, AFileThatCannotBeOpenedIsAnErrorThatSaysWhatToDo) {
  const auto log = Log::Open({LogLevel::kInfo, "/no/such/folder/log"});
  EXPECT_EQ(log.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(log.status().message().find("check that its folder exists"), std::string::npos);
}

TEST(LogLevelTest, KnowsItsNames) {
  EXPECT_EQ(ParseLogLevel("debug"), LogLevel::kDebug);
  EXPECT_EQ(ParseLogLevel("error"), LogLevel::kError);
  EXPECT_EQ(ParseLogLevel("loud"), std::nullopt);
  EXPECT_EQ(ParseLogLevel(""), std::nullopt);
}

}  // namespace
}  // namespace expunge::rpc
