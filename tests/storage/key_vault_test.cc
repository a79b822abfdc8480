// The key vault: which keys live, what is durable, and what is gone.
#include "storage/key_vault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tests/storage/vault_support.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

using test_support::KeyOf;
using test_support::Master;
using test_support::MustTake;
using test_support::OpenVault;
using test_support::PlaceOf;
using test_support::ReadWholeFile;
using test_support::TemporaryDirectory;
using ::testing::HasSubstr;

TEST(KeyVaultTest, IsMadePrivate) {
  const TemporaryDirectory directory;
  const std::string path = directory / "vault";
  ASSERT_NE(OpenVault(path), nullptr);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  ASSERT_EQ(::stat((path + "/keys").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(status.st_size, 128);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path), {}), 1) << "no temporary file is left";
}

TEST(KeyVaultTest, IsMissingUnlessItMayBeMade) {
  const TemporaryDirectory directory;
  const absl::Status status = KeyVault::Open(directory / "vault", Master(), false).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("missing"));
  EXPECT_FALSE(std::filesystem::exists(directory / "vault"));
}

TEST(KeyVaultTest, KeysSurviveReopening) {
  const TemporaryDirectory directory;
  std::vector<Slot> tokens;
  std::vector<std::string> keys;
  Slot tenant = 0;
  {
    const auto vault = OpenVault(directory.path());
    tenant = MustTake(vault.get(), kMasterSlot, 1).at(0);
    tokens = MustTake(vault.get(), tenant, 300);
    for (const Slot slot : tokens) keys.push_back(KeyOf(*vault, tenant, slot));
  }
  const auto vault = OpenVault(directory.path());
  for (size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(KeyOf(*vault, tenant, tokens[i]), keys[i]);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size());
}

TEST(KeyVaultTest, ADestroyedKeyAndItsSlotsBytesAreGone) {
  const TemporaryDirectory directory;
  const auto vault = OpenVault(directory.path());
  const Slot tenant = MustTake(vault.get(), kMasterSlot, 1).at(0);
  const std::vector<Slot> tokens = MustTake(vault.get(), tenant, 5);
  const std::string old_key = KeyOf(*vault, tenant, tokens[2]);
  const std::string old_sealed = PlaceOf(directory.path(), tokens[2]).substr(8, 72);
  const std::string kept = PlaceOf(directory.path(), tokens[3]);
  ASSERT_THAT(ReadWholeFile(directory / "keys"), HasSubstr(old_sealed)) << "the search finds what is there";

  ASSERT_TRUE(vault->Destroy({tokens[2]}, 7).ok());
  const std::string file = ReadWholeFile(directory / "keys");
  for (size_t at = 0; at < 72; at += 24) EXPECT_EQ(file.find(old_sealed.substr(at, 24)), std::string::npos);
  EXPECT_NE(KeyOf(*vault, tenant, tokens[2]), old_key);
  EXPECT_EQ(PlaceOf(directory.path(), tokens[3]), kept);
  EXPECT_EQ(vault->committed(), 7U);
}

TEST(KeyVaultTest, AnotherMasterKeyIsRefusedAndTouchesNothing) {
  const TemporaryDirectory directory;
  ASSERT_FALSE(MustTake(OpenVault(directory.path()).get(), kMasterSlot, 1).empty());
  const std::string before = ReadWholeFile(directory / "keys");
  const absl::Status status = KeyVault::Open(directory.path(), Master(1), true).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("another master key"));
  EXPECT_EQ(ReadWholeFile(directory / "keys"), before);
  EXPECT_NE(OpenVault(directory.path()), nullptr);
}

TEST(KeyVaultTest, OnlyAnEmptyPoolCostsASync) {
  const TemporaryDirectory directory;
  const auto vault = OpenVault(directory.path());
  const Slot tenant = MustTake(vault.get(), kMasterSlot, 1).at(0);
  const uint64_t begin = vault->usage().syncs;
  EXPECT_EQ(begin, 1U);
  const std::vector<Slot> first = MustTake(vault.get(), tenant, 1);
  EXPECT_EQ(vault->usage().syncs, begin + 1);
  for (int i = 0; i < 51; ++i) MustTake(vault.get(), tenant, 5);
  EXPECT_EQ(vault->usage().syncs, begin + 1) << "256 keys were made";
  MustTake(vault.get(), tenant, 1000);
  EXPECT_EQ(vault->usage().syncs, begin + 2);
  ASSERT_TRUE(vault->Destroy(first, 1).ok());
  EXPECT_EQ(vault->usage().syncs, begin + 3);
  MustTake(vault.get(), tenant, 1);
  EXPECT_EQ(vault->usage().syncs, begin + 3) << "a destroyed slot has a key at once";
  ASSERT_TRUE(vault->Destroy(MustTake(vault.get(), tenant, 900), 2).ok());
  EXPECT_EQ(vault->usage().syncs, begin + 5);
}

}  // namespace
}  // namespace expunge::storage
