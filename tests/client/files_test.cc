#include "client/cli/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>

#include "client/cli/failure.h"
#include "client/cli/receipts.h"

namespace expunge::cli {
namespace {

using ::testing::HasSubstr;

std::string Fresh(const std::string& name) {
  std::string path = ::testing::TempDir() + "/expunge_files_" + name;
  unlink(path.c_str());
  return path;
}

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  return info.st_mode & 0777;
}

v1::AddResponse ResponseWithReceipt() {
  v1::AddResponse response;
  v1::TokenReceipt* receipt = response.add_receipts();
  receipt->set_token("tenants/t/memories/m/tokens/a");
  receipt->set_salt("\x01\x02");
  receipt->set_commitment("\xff");
  return response;
}

TEST(FilesTest, WritesAndReadsTheSameBytes) {
  const std::string path = Fresh("bytes");
  const std::string bytes("\0a\xff\n", 4);
  ASSERT_TRUE(WriteFile(path, "longer than what replaces it", 0644).ok());
  ASSERT_TRUE(WriteFile(path, bytes, 0600).ok());
  EXPECT_EQ(ReadFile(path, 4).value(), bytes);
  EXPECT_EQ(ModeOf(path), 0600U);
}

TEST(FilesTest, APipeTakesTheBytesAndIsNotReplaced) {
  const std::string path = Fresh("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(WriteFile(path, "bytes", 0644).ok());
  std::array<char, 16> got{};
  EXPECT_EQ(read(reader, got.data(), got.size()), 5);
  EXPECT_STREQ(got.data(), "bytes");
  close(reader);
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_TRUE(S_ISFIFO(info.st_mode));
}

TEST(FilesTest, ALinkStaysAndItsTargetIsReplaced) {
  const std::string target = Fresh("target");
  const std::string link = Fresh("link");
  ASSERT_TRUE(WriteFile(target, "old", 0644).ok());
  ASSERT_EQ(symlink(target.c_str(), link.c_str()), 0);
  EXPECT_TRUE(WriteFile(link, "new", 0644).ok());
  EXPECT_EQ(ReadFile(target, 3).value(), "new");
  struct stat info {};
  ASSERT_EQ(lstat(link.c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
}

TEST(FilesTest, RefusesWhatIsTooLargeOrNoFile) {
  const std::string path = Fresh("large");
  ASSERT_TRUE(WriteFile(path, "12345", 0644).ok());
  EXPECT_THAT(std::string(ReadFile(path, 4).status().message()), HasSubstr("more than 4 bytes"));
  EXPECT_THAT(std::string(ReadFile("/tmp", 4).status().message()), HasSubstr("is a directory"));
  EXPECT_THAT(std::string(ReadFile("/nonexistent", 4).status().message()),
              HasSubstr("cannot read /nonexistent"));
  EXPECT_EQ(ExitCodeOf(WriteFile("/nonexistent/x", "", 0644)), kExitUsage);
}

TEST(ReceiptFileTest, AppendsLinesThatOnlyTheOwnerCanRead) {
  const std::string path = Fresh("receipts");
  for (int i = 0; i < 2; ++i) {
    const auto file = ReceiptFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE((*file)->Append(ResponseWithReceipt()).ok());
  }
  const std::string line = R"({"token":"tenants/t/memories/m/tokens/a","salt":"0102","commitment":"ff"})"
                           "\n";
  EXPECT_EQ(ReadFile(path, 1000).value(), line + line);
  EXPECT_EQ(ModeOf(path), 0600U);
}

TEST(ReceiptFileTest, RefusesAFileThatOthersMayRead) {
  const std::string path = Fresh("open");
  ASSERT_TRUE(WriteFile(path, "", 0644).ok());
  const auto file = ReceiptFile::Open(path);
  EXPECT_THAT(std::string(file.status().message()), HasSubstr("is open to others"));
  EXPECT_THAT(HintOf(file.status()), HasSubstr("chmod 600"));
}

}  // namespace
}  // namespace expunge::cli
