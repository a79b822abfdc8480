// What RetainOnly does with the keys that a crash, or an older copy, left in the vault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "storage/key_vault.h"
#include "tests/storage/vault_support.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

using test_support::KeyOf;
using test_support::MustTake;
using test_support::OpenVault;
using test_support::PlaceOf;
using test_support::ReadWholeFile;
using test_support::TemporaryDirectory;
using test_support::WriteWholeFile;
using ::testing::HasSubstr;

// A vault of two tenants with four tokens each, closed.
class KeyVaultStartTest : public ::testing::Test {
 protected:
  KeyVaultStartTest() {
    const auto vault = OpenVault(directory_.path());
    tenants_ = MustTake(vault.get(), kMasterSlot, 2);
    for (const Slot tenant : tenants_) tokens_.push_back(MustTake(vault.get(), tenant, 4));
    file_ = File();
  }
  [[nodiscard]] std::string File() const { return ReadWholeFile(directory_ / "keys"); }
  void WriteFile(const std::string& bytes) const { WriteWholeFile(directory_ / "keys", bytes); }
  [[nodiscard]] std::string OldPlace(Slot slot) const { return file_.substr(slot * 128, 128); }

  TemporaryDirectory directory_;
  std::vector<Slot> tenants_;
  std::vector<std::vector<Slot>> tokens_;
  std::string file_;
};

TEST_F(KeyVaultStartTest, WhatNoRecordNamesIsDestroyed) {
  const auto vault = OpenVault(directory_.path());
  const std::set<Slot> live = {tenants_[0], tenants_[1], tokens_[0][1], tokens_[1][0]};
  ASSERT_TRUE(vault->RetainOnly({live.rbegin(), live.rend()}, 5).ok());
  const std::string now = File();
  for (Slot slot = 1; slot <= vault->usage().slots; ++slot) {
    const bool is_live = live.count(slot) > 0;
    EXPECT_EQ(now.substr(slot * 128, 128) == OldPlace(slot), is_live) << slot;
    EXPECT_EQ(now.find(OldPlace(slot).substr(8, 72)) != std::string::npos, is_live) << slot;
  }
  EXPECT_EQ(vault->committed(), 5U);
  EXPECT_EQ(vault->usage().syncs, 1U);
  EXPECT_EQ(vault->usage().pooled, vault->usage().slots - live.size());
}

TEST_F(KeyVaultStartTest, ThePoolsAreFullAgainAtOnce) {
  const auto vault = OpenVault(directory_.path());
  ASSERT_TRUE(vault->RetainOnly({tenants_[0], tenants_[1], tokens_[0][1]}, 5).ok());
  std::set<Slot> taken = {tokens_[0][1]};
  for (const Slot tenant : tenants_) {
    for (const Slot slot : MustTake(vault.get(), tenant, 255)) {
      EXPECT_TRUE(taken.insert(slot).second) << slot;
      EXPECT_FALSE(KeyOf(*vault, tenant, slot).empty()) << slot;
    }
  }
  EXPECT_EQ(vault->usage().syncs, 1U) << "that of RetainOnly";
}

TEST_F(KeyVaultStartTest, WithNoRecordNoKeyIsLeft) {
  const auto vault = OpenVault(directory_.path());
  ASSERT_TRUE(vault->RetainOnly({}, 1).ok());
  const std::string now = File();
  for (Slot slot = 1; slot * 128 < file_.size(); ++slot)
    EXPECT_EQ(now.find(OldPlace(slot).substr(8, 72)), std::string::npos) << slot;
  for (const Slot slot : tokens_[0])
    EXPECT_EQ(PlaceOf(directory_.path(), slot), std::string(128, '\0')) << "its tenant is gone";
  EXPECT_FALSE(KeyOf(*vault, kMasterSlot, tenants_[0]).empty()) << "a fresh one";
}

TEST_F(KeyVaultStartTest, KeysOfAnAddThatFailedAreDestroyed) {
  const std::vector<Slot> live = {tenants_[0], tenants_[1], tokens_[0][0]};
  std::vector<Slot> orphans;
  {
    const auto vault = OpenVault(directory_.path());
    ASSERT_TRUE(vault->RetainOnly(live, 1).ok());
    orphans = MustTake(vault.get(), tenants_[0], 3);
  }
  const std::string old_file = File();
  const auto vault = OpenVault(directory_.path());
  ASSERT_TRUE(vault->RetainOnly(live, 1).ok());
  for (const Slot slot : orphans)
    EXPECT_EQ(File().find(old_file.substr(slot * 128 + 8, 72)), std::string::npos) << slot;
  EXPECT_EQ(PlaceOf(directory_.path(), tokens_[0][0]), OldPlace(tokens_[0][0]));
}

TEST_F(KeyVaultStartTest, WithNothingToDestroyNothingIsWrittenButWhatIsThereIsSynced) {
  const auto vault = OpenVault(directory_.path());
  std::vector<Slot> all;
  for (Slot slot = 1; slot <= vault->usage().slots; ++slot) all.push_back(slot);
  ASSERT_TRUE(vault->RetainOnly(all, 0).ok());
  EXPECT_EQ(File(), file_);
  EXPECT_EQ(vault->usage().syncs, 1U);
  EXPECT_EQ(vault->usage().pooled, 0U);
}

TEST_F(KeyVaultStartTest, SlotsOfADeadTenantAreEmptiedAndUsedAgain) {
  const auto vault = OpenVault(directory_.path());
  ASSERT_TRUE(vault->RetainOnly({tenants_[1], tokens_[1][0]}, 5).ok());
  for (const Slot slot : tokens_[0]) EXPECT_EQ(PlaceOf(directory_.path(), slot), std::string(128, '\0'));
  const uint64_t slots = vault->usage().slots;
  const Slot tenant = MustTake(vault.get(), kMasterSlot, 1).at(0);
  EXPECT_THAT(MustTake(vault.get(), tenant, 256), ::testing::Contains(tokens_[0][0]));
  EXPECT_EQ(vault->usage().slots, slots);
}

TEST_F(KeyVaultStartTest, ALiveSlotThatCannotBeOneIsNamedAndNothingIsTouched) {
  const Slot last = file_.size() / 128 - 1;
  struct Case {
    std::vector<Slot> live;
    Slot named;
  };
  const std::vector<Case> cases = {{{tenants_[0], last + 1}, last + 1},
                                   {{kMasterSlot}, 0},
                                   {{~Slot{0}}, ~Slot{0}},
                                   {{tokens_[0][0]}, tokens_[0][0]}};  // without its tenant
  for (const Case& one : cases) {
    const auto vault = OpenVault(directory_.path());
    const absl::Status status = vault->RetainOnly(one.live, 5);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("slot " + std::to_string(one.named) + " "));
    EXPECT_EQ(File(), file_);
  }
}

TEST_F(KeyVaultStartTest, AnyTruncationThatLosesALiveKeyIsDetected) {
  const std::vector<Slot> live = {tenants_[0], tenants_[1], tokens_[1][3]};
  const size_t end_of_live = (tokens_[1][3] + 1) * 128;
  for (size_t size = 0; size < file_.size(); size += size < 256 ? 1 : 509) {
    SCOPED_TRACE(size);
    WriteFile(file_.substr(0, size));
    const auto vault = KeyVault::Open(directory_.path(), test_support::Master(), true);
    const absl::Status status = vault.ok() ? (*vault)->RetainOnly(live, 1) : vault.status();
    EXPECT_EQ(status.ok(), size >= end_of_live) << status;
    if (status.ok()) continue;
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_EQ(File().size(), size) << "nothing is made anew in its place";
  }
}

TEST_F(KeyVaultStartTest, AnEmptiedLiveSlotIsDetected) {
  std::string bytes = file_;
  bytes.replace(tokens_[0][2] * 128, 128, 128, '\0');
  WriteFile(bytes);
  const absl::Status status =
      OpenVault(directory_.path())->RetainOnly({tenants_[0], tokens_[0][2], tokens_[0][0]}, 1);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_EQ(File(), bytes);
}

TEST_F(KeyVaultStartTest, WhatATornExtensionLeftIsUsedAgain) {
  // Two slots of noise, and a half.
  WriteFile(file_ + std::string(128, '\x5a') + std::string(128, '\x01') + std::string(64, '\x5a'));
  const auto vault = OpenVault(directory_.path());
  const Slot last = file_.size() / 128 + 1;
  EXPECT_EQ(vault->usage().slots, last);
  ASSERT_TRUE(vault->RetainOnly({tenants_[0], tokens_[0][0]}, 1).ok());
  EXPECT_EQ(PlaceOf(directory_.path(), last), std::string(128, '\0'));
  for (const Slot slot : MustTake(vault.get(), tenants_[0], 2000))
    EXPECT_FALSE(KeyOf(*vault, tenants_[0], slot).empty()) << slot;
  EXPECT_EQ(File().size(), (vault->usage().slots + 1) * 128);
}

TEST_F(KeyVaultStartTest, TheCommittedNumberIsTheDatabases) {
  const auto vault = OpenVault(directory_.path());
  ASSERT_TRUE(vault->Destroy({}, 9).ok());
  ASSERT_TRUE(vault->RetainOnly({}, 4).ok());
  EXPECT_EQ(vault->committed(), 4U);
  EXPECT_EQ(OpenVault(directory_.path())->committed(), 4U);
}

}  // namespace
}  // namespace expunge::storage
