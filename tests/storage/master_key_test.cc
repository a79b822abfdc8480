#include "storage/master_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "tests/storage/vault_support.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

using test_support::Master;
using test_support::ReadWholeFile;
using test_support::TemporaryDirectory;
using ::testing::HasSubstr;
using ::testing::Not;

std::string HexOf(const SecretKey& key) { return ToHex(key.view()); }

void WriteFile(const std::string& path, const std::string& bytes, mode_t mode = 0600) {
  test_support::WriteWholeFile(path, bytes);
  ASSERT_EQ(::chmod(path.c_str(), mode), 0);
}

TEST(MasterKeyTest, IsMadeOnceAndLoadedAgain) {
  const TemporaryDirectory directory;
  const std::string path = directory / "master";
  const mode_t old_mask = ::umask(0777);  // the mode is set whatever the mask is
  const auto made = LoadMasterKey(path, true);
  ::umask(old_mask);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(ReadWholeFile(path), HexOf(*made) + "\n");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
  for (const bool may_create : {false, true}) {
    const auto loaded = LoadMasterKey(path, may_create);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(HexOf(*loaded), HexOf(*made));
  }
  const auto other = LoadMasterKey(directory / "other", true);
  ASSERT_TRUE(other.ok());
  EXPECT_NE(HexOf(*other), HexOf(*made));
}

TEST(MasterKeyTest, IsMissingUnlessItMayBeMade) {
  const TemporaryDirectory directory;
  const absl::Status status = LoadMasterKey(directory / "master", false).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot be read"));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  EXPECT_EQ(GetReason(LoadMasterKey(directory / "no/such/folder", true).status()), Reason::kStorageFailed);
}

TEST(MasterKeyTest, AnyOtherFormIsRefusedWithoutQuotingIt) {
  const TemporaryDirectory directory;
  const std::string path = directory / "master";
  const std::string good = HexOf(Master()) + "\n";
  WriteFile(path, good);
  const auto loaded = LoadMasterKey(path, false);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(HexOf(*loaded), HexOf(Master()));
  std::vector<std::string> bad = {"",
                                  "\n",
                                  good + "\n",
                                  good + "0",
                                  " " + good,
                                  std::string(65, '0'),
                                  std::string(Master().view()),
                                  good.substr(0, 63) + "A\n",
                                  good.substr(0, 63) + "g\n",
                                  good.substr(0, 64) + "\r",
                                  good.substr(0, 64) + '\0'};
  for (size_t size = 1; size < good.size(); ++size) bad.push_back(good.substr(0, size));
  for (const std::string& text : bad) {
    WriteFile(path, text);
    const absl::Status status = LoadMasterKey(path, true).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text.size() << ": " << status;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("0001")));
    EXPECT_EQ(ReadWholeFile(path), text);
  }
}

TEST(MasterKeyTest, AFileThatOthersMayReadIsRefused) {
  const TemporaryDirectory directory;
  const std::string path = directory / "master";
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0610U, 0601U, 0644U, 0666U, 0440U}) {
    WriteFile(path, HexOf(Master()) + "\n", mode);
    EXPECT_TRUE(absl::IsPermissionDenied(LoadMasterKey(path, false).status())) << mode;
  }
  for (const mode_t mode : {0400U, 0600U, 0700U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_TRUE(LoadMasterKey(path, false).ok()) << mode;
  }
}

TEST(MasterKeyTest, AFileOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const TemporaryDirectory directory;
  const std::string path = directory / "master";
  WriteFile(path, HexOf(Master()) + "\n");
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(LoadMasterKey(path, false).status()));
}

TEST(MasterKeyTest, OnlyARegularFileIsRead) {
  const TemporaryDirectory directory;
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(LoadMasterKey(directory / "fifo", true).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(LoadMasterKey(directory.path(), true).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(LoadMasterKey("/dev/zero", true).status()));
  std::filesystem::create_symlink(directory / "nowhere", directory / "dangling");
  EXPECT_FALSE(LoadMasterKey(directory / "dangling", true).ok());
  WriteFile(directory / "master", HexOf(Master()) + "\n");
  std::filesystem::create_symlink(directory / "master", directory / "link");
  EXPECT_TRUE(LoadMasterKey(directory / "link", false).ok()) << "as secrets are mounted into containers";
}

TEST(MasterKeyTest, TwoThatMakeItAtOnceHaveTheSame) {
  for (int round = 0; round < 20; ++round) {
    const TemporaryDirectory directory;
    std::string keys[2];
    const auto load = [&](size_t which) {
      const auto key = LoadMasterKey(directory / "master", true);
      if (key.ok()) keys[which] = HexOf(*key);
    };
    std::thread other(load, 0);
    load(1);
    other.join();
    EXPECT_EQ(keys[0].size(), 64U);
    EXPECT_EQ(keys[0], keys[1]);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
  }
}

}  // namespace
}  // namespace expunge::storage
