#include "server/rpc/port_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <iterator>

#include "tests/support/files.h"

namespace expunge::rpc {
namespace {

TEST(PortFileTest, HoldsThePortAloneAndReplacesAnOlderOne) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory / "port";
  ASSERT_TRUE(WritePortFile(path, 65535).ok());
  ASSERT_TRUE(WritePortFile(path, 7420).ok());
  EXPECT_EQ(test_support::ReadWholeFile(path), "7420\n");
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  const std::filesystem::directory_iterator files(directory.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "no temporary file stays";
}

TEST(PortFileTest, FailsWithAdvice) {
  const absl::Status status = WritePortFile("/no/such/folder/port", 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("check that its folder exists"), std::string::npos);
}

}  // namespace
}  // namespace expunge::rpc
