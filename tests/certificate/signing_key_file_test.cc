// SigningKey::LoadOrCreate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "certificate/signing_key.h"
#include "tests/certificate/fixtures.h"
#include "tests/support/files.h"

namespace expunge::certificate {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SigningKeyFileTest : public ::testing::Test {
 protected:
  static mode_t Mode(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
  }
  [[nodiscard]] size_t FilesInFolder() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  const test_support::TemporaryDirectory directory_;
  const fs::path folder_ = directory_.path();
  const std::string path_ = directory_ / "signing.pem";
};

TEST_F(SigningKeyFileTest, CreatesAKeyOnceForTheOwnerAloneAndLoadsItLater) {
  const auto created = SigningKey::LoadOrCreate(path_);
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_EQ(Mode(path_), 0600U);
  EXPECT_EQ(FilesInFolder(), 1U);
  const std::string bytes = testing::ReadBytes(path_);
  const auto loaded = SigningKey::LoadOrCreate(path_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->Public().KeyId(), created->Public().KeyId());
  EXPECT_EQ(testing::ReadBytes(path_), bytes);
}

TEST_F(SigningKeyFileTest, TheUmaskDoesNotChangeTheMode) {
  for (const mode_t mask : {mode_t{0}, mode_t{0777}}) {
    const std::string path = path_ + std::to_string(mask);
    const mode_t before = ::umask(mask);
    const auto key = SigningKey::LoadOrCreate(path);
    ::umask(before);
    ASSERT_TRUE(key.ok()) << key.status();
    EXPECT_EQ(Mode(path), 0600U);
  }
}

TEST_F(SigningKeyFileTest, RefusesAFileThatOthersMayOpenAndSaysHowToFixIt) {
  ASSERT_TRUE(SigningKey::LoadOrCreate(path_).ok());
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0610U, 0601U, 0644U, 0666U}) {
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    const auto key = SigningKey::LoadOrCreate(path_);
    ASSERT_EQ(key.status().code(), absl::StatusCode::kPermissionDenied) << std::oct << mode;
    EXPECT_THAT(std::string(key.status().message()), HasSubstr("chmod 600 " + path_));
  }
  for (const mode_t mode : {0600U, 0400U}) {
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    EXPECT_TRUE(SigningKey::LoadOrCreate(path_).ok()) << std::oct << mode;
  }
}

TEST_F(SigningKeyFileTest, RefusesAndKeepsAFileThatIsNotAKey) {
  const std::string good =
      testing::PrivatePemOfSeed("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
  for (const std::string& contents :
       {std::string(), std::string("garbage"), good + "x", std::string(100'000, 'x'), good.substr(0, 60)}) {
    testing::WriteBytes(path_, contents);
    ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
    const auto key = SigningKey::LoadOrCreate(path_);
    ASSERT_EQ(key.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(key.status().message()), HasSubstr(path_));
    EXPECT_EQ(testing::ReadBytes(path_), contents);
  }
}

TEST_F(SigningKeyFileTest, RefusesWhatIsNotAFile) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(SigningKey::LoadOrCreate(path_).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SigningKey::LoadOrCreate(folder_.string()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SigningKeyFileTest, NamesTheFolderThatDoesNotExist) {
  const auto key = SigningKey::LoadOrCreate((folder_ / "absent" / "signing.pem").string());
  EXPECT_EQ(key.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(key.status().message()), HasSubstr("absent"));
}

TEST_F(SigningKeyFileTest, FollowsALinkToAKeyButNotToNothing) {
  const std::string link = (folder_ / "link").string();
  fs::create_symlink(path_, link);
  EXPECT_EQ(SigningKey::LoadOrCreate(link).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(FilesInFolder(), 1U) << "nothing but the link may be left";
  const auto key = SigningKey::LoadOrCreate(path_);
  ASSERT_TRUE(key.ok());
  const auto linked = SigningKey::LoadOrCreate(link);
  ASSERT_TRUE(linked.ok()) << linked.status();
  EXPECT_EQ(linked->Public().KeyId(), key->Public().KeyId());
}

TEST_F(SigningKeyFileTest, AllThatCreateItAtOnceGetTheSameKey) {
  std::vector<std::string> ids(8);
  std::vector<std::thread> threads;
  threads.reserve(ids.size());
  for (std::string& id : ids) {
    threads.emplace_back([this, &id] {
      const auto key = SigningKey::LoadOrCreate(path_);
      if (key.ok()) id = key->Public().KeyId();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& id : ids) EXPECT_EQ(id, ids.front());
  EXPECT_FALSE(ids.front().empty());
  EXPECT_EQ(FilesInFolder(), 1U);
}

}  // namespace
}  // namespace expunge::certificate
