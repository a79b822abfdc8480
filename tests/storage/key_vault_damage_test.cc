// Damage to the vault's file, and the bytes that docs/formats/vault.md promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "storage/key_vault.h"
#include "tests/storage/vault_support.h"
#include "tests/support/documents.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

using test_support::KeyOf;
using test_support::Master;
using test_support::MustTake;
using test_support::OpenVault;
using test_support::ReadWholeFile;
using test_support::TemporaryDirectory;
using test_support::WriteWholeFile;
using ::testing::HasSubstr;

std::string WithBitFlipped(std::string bytes, size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
  return bytes;
}

// The checksum made right again, as nobody does by accident.
std::string WithChecksum(std::string file) {
  const Digest sum = Sha256(absl::string_view(file).substr(0, 96));
  return file.replace(96, 32, std::string(AsView(sum)));
}

class KeyVaultDamageTest : public ::testing::Test {
 protected:
  KeyVaultDamageTest() {
    const auto vault = OpenVault(directory_.path());
    tenant_ = MustTake(vault.get(), kMasterSlot, 1).at(0);
    tokens_ = MustTake(vault.get(), tenant_, 2);
    EXPECT_TRUE(vault->Destroy({}, 77).ok());
    file_ = ReadWholeFile(path_);
  }
  void Write(const std::string& bytes) const { WriteWholeFile(path_, bytes); }
  [[nodiscard]] absl::Status OpenStatus() const {
    return KeyVault::Open(directory_.path(), Master(), true).status();
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "keys";
  Slot tenant_ = 0;
  std::vector<Slot> tokens_;
  std::string file_;
};

TEST_F(KeyVaultDamageTest, EveryFlippedBitOfTheHeaderIsDataLoss) {
  for (size_t bit = 0; bit < 128 * 8; ++bit) {
    const std::string bytes = WithBitFlipped(file_, bit);
    Write(bytes);
    const absl::Status status = OpenStatus();
    ASSERT_TRUE(absl::IsDataLoss(status)) << bit << ": " << status;
    ASSERT_EQ(GetReason(status), Reason::kStorageCorrupt);
    ASSERT_EQ(ReadWholeFile(path_), bytes);
  }
}

TEST_F(KeyVaultDamageTest, EveryFlippedBitOfASlotIsDataLoss) {
  for (const Slot slot : {tenant_, tokens_[0]}) {
    for (size_t bit = 0; bit < 128 * 8; ++bit) {
      Write(WithBitFlipped(file_, slot * 128 * 8 + bit));
      const auto vault = OpenVault(directory_.path());
      const absl::Status status = vault->Key(tenant_, tokens_[0]).status();
      ASSERT_TRUE(absl::IsDataLoss(status)) << slot << ", " << bit << ": " << status;
      ASSERT_THAT(std::string(status.message()), HasSubstr("slot " + std::to_string(slot) + " "));
      const bool others_served = !KeyOf(*vault, tenant_, tokens_[1]).empty();
      ASSERT_EQ(others_served, slot == tokens_[0]);
    }
  }
}

TEST_F(KeyVaultDamageTest, ADamagedSlotCanBeDestroyed) {
  for (size_t bit = 0; bit < 128 * 8; bit += 7) {
    Write(WithBitFlipped(file_, tokens_[0] * 128 * 8 + bit));
    const auto vault = OpenVault(directory_.path());
    ASSERT_TRUE(vault->Destroy({tokens_[0]}, 78).ok());
    const std::string now = ReadWholeFile(path_);
    ASSERT_EQ(now.find(file_.substr(tokens_[0] * 128 + 8, 24)), std::string::npos);
    ASSERT_EQ(now.find(file_.substr(tokens_[0] * 128 + 56, 24)), std::string::npos);
    ASSERT_FALSE(KeyOf(*vault, tenant_, tokens_[1]).empty());
  }
}

TEST_F(KeyVaultDamageTest, ASlotInAnothersPlaceIsDataLoss) {
  std::string bytes = file_;
  bytes.replace(tokens_[0] * 128, 128, file_, tokens_[1] * 128, 128);
  Write(bytes);
  const auto vault = OpenVault(directory_.path());
  EXPECT_TRUE(absl::IsDataLoss(vault->Key(tenant_, tokens_[0]).status()));
  EXPECT_FALSE(KeyOf(*vault, tenant_, tokens_[1]).empty());
}

TEST_F(KeyVaultDamageTest, ASlotOfAnotherVaultIsDataLoss) {
  const TemporaryDirectory other;
  ASSERT_EQ(MustTake(OpenVault(other.path()).get(), kMasterSlot, 1).at(0), tenant_);
  std::string bytes = file_;
  bytes.replace(tenant_ * 128, 128, ReadWholeFile(other / "keys"), tenant_ * 128, 128);
  Write(bytes);
  EXPECT_TRUE(absl::IsDataLoss(OpenVault(directory_.path())->Key(kMasterSlot, tenant_).status()));
}

TEST_F(KeyVaultDamageTest, ANewerFormatIsRefused) {
  std::string bytes = file_;
  bytes[8] = 2;
  Write(WithChecksum(bytes));
  const absl::Status status = OpenStatus();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("format 2"));
  EXPECT_EQ(ReadWholeFile(path_), WithChecksum(bytes));
}

TEST_F(KeyVaultDamageTest, TheHeaderCannotBeForgedWithoutTheMasterKey) {
  for (const size_t at : {16U, 31U, 32U, 39U, 40U, 79U}) {
    std::string bytes = file_;
    bytes[at] = static_cast<char>(bytes[at] + 1);
    Write(WithChecksum(bytes));
    EXPECT_TRUE(absl::IsFailedPrecondition(OpenStatus())) << at;
  }
  Write(WithChecksum(file_));
  EXPECT_TRUE(OpenStatus().ok());
}

TEST_F(KeyVaultDamageTest, WhatIsNoFileIsRefused) {
  const TemporaryDirectory other;
  std::filesystem::create_directory(other / "keys");
  EXPECT_EQ(GetReason(KeyVault::Open(other.path(), Master(), true).status()), Reason::kStorageFailed);
  ASSERT_EQ(::mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  std::filesystem::rename(directory_ / "fifo", path_);
  EXPECT_EQ(GetReason(OpenStatus()), Reason::kStorageFailed);
}

// The example, which tests/golden/make_vault.py makes and shares no code with.
std::string ExampleOfTheDocument() {
  return test_support::ExampleAfter(EXPUNGE_VAULT_PAGE, "The file has 384 bytes:");
}

TEST_F(KeyVaultDamageTest, TheExampleOfTheDocumentIsRead) {
  const std::string example = ExampleOfTheDocument();
  ASSERT_EQ(example.size(), 384U);
  Write(example);
  const auto vault = OpenVault(directory_.path());
  ASSERT_NE(vault, nullptr);
  EXPECT_EQ(vault->committed(), 258U);
  EXPECT_EQ(vault->usage().slots, 2U);
  EXPECT_EQ(KeyOf(*vault, kMasterSlot, 1), std::string(Master(0x20).view()));
  EXPECT_EQ(KeyOf(*vault, 1, 2), std::string(Master(0x40).view()));
}

TEST_F(KeyVaultDamageTest, WhatIsWrittenHasTheFormOfTheDocument) {
  EXPECT_EQ(file_.size() % 128, 0U);
  const std::string example = ExampleOfTheDocument();
  ASSERT_EQ(example.size(), 384U);
  EXPECT_EQ(file_.substr(0, 16), example.substr(0, 16));
  EXPECT_EQ(file_.substr(32, 8), std::string("\x4d\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(file_.substr(80, 16), std::string(16, '\0'));
  const std::string token = file_.substr(tokens_[0] * 128, 128);
  EXPECT_EQ(token.substr(0, 8), std::string("\x01\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(token.substr(80), std::string(48, '\0'));
}

}  // namespace
}  // namespace expunge::storage
