#include "server/rpc/trace.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace expunge::rpc {
namespace {

constexpr char kGood[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceParentTest, TakesTheTraceIdOfAWellFormedHeader) {
  EXPECT_EQ(ParseTraceParent(kGood), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(ParseTraceParent("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00-what-comes-later"),
            "4bf92f3577b34da6a3ce929d0e0e4736");
}

TEST(TraceParentTest, RefusesEverythingElse) {
  for (const char* header : {
           "",
           "alice@example.org",
           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01",
           "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
           "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
       }) {
    EXPECT_EQ(ParseTraceParent(header), std::nullopt) << header;
  }
}

TEST(TraceParentTest, RefusesEveryTruncation) {
  const std::string good = kGood;
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_EQ(ParseTraceParent(good.substr(0, size)), std::nullopt);
}

TEST(RandomTraceIdTest, IsWellFormedAndDoesNotRepeat) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = RandomTraceId();
    EXPECT_TRUE(seen.insert(id).second);
    EXPECT_EQ(ParseTraceParent("00-" + id + "-00f067aa0ba902b7-01"), id);
  }
}

}  // namespace
}  // namespace expunge::rpc
