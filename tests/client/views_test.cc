#include "client/cli/views.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace expunge::cli {
namespace {

TEST(ViewsTest, BytesHaveTheLargestUnitThatLeavesANumberOfAtLeastOne) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1024), "1.0 KiB");
  EXPECT_EQ(BytesText(1536), "1.5 KiB");
  EXPECT_EQ(BytesText(uint64_t{80} << 30), "80.0 GiB");
  EXPECT_EQ(BytesText(UINT64_MAX), "16.0 EiB");
}

TEST(ViewsTest, DurationsEndAtMilliseconds) {
  google::protobuf::Duration duration;
  EXPECT_EQ(DurationText(duration), "0");
  duration.set_seconds(90);
  duration.set_nanos(500'999'999);
  EXPECT_EQ(DurationText(duration), "1m30.5s");
}

}  // namespace
}  // namespace expunge::cli
