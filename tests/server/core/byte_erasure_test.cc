// Erasures to their end: keys, files, and the second certificate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/core/service_fixture.h"
#include "tests/support/byte_search.h"
#include "tests/support/files.h"

namespace expunge::core {
namespace {

class ByteErasureTest : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    Create("cells");
    Add(kMemory, MakePoints("a", 12));
  }

  v1::GetErasureStatusResponse Status() {
    v1::GetErasureStatusRequest request;
    request.set_parent(kTenant);
    const auto status = service_->GetErasureStatus(request);
    EXPECT_TRUE(status.ok()) << status.status();
    return status.ok() ? *status : v1::GetErasureStatusResponse();
  }

  // Every certificate verifies, and each of stage KEY_DESTROYED is completed by exactly one other.
  void ExpectPairs(size_t erasures) {
    std::map<std::string, int> completed;
    size_t firsts = 0;
    for (const v1::Certificate& certificate : Certificates()) {
      EXPECT_FALSE(VerifiedPayload(certificate).empty());
      if (certificate.stage() == v1::ERASURE_STAGE_KEY_DESTROYED) ++firsts;
      if (certificate.stage() == v1::ERASURE_STAGE_PHYSICALLY_PURGED) ++completed[certificate.completes()];
    }
    EXPECT_EQ(firsts, erasures);
    EXPECT_EQ(completed.size(), erasures);
    for (const auto& [name, count] : completed) EXPECT_EQ(count, 1) << name;
  }

  // Whether some file under the data has these bytes.
  [[nodiscard]] bool FilesHave(const std::string& bytes) const {
    return !test_support::SearchFiles(directory_.path(), {{"raw", bytes}}).empty();
  }

  // The raw records of the tokens, and of the memory's state.
  [[nodiscard]] std::map<std::string, std::string> RawTokens() const {
    std::map<std::string, std::string> raw;
    for (const auto& [place, value] : DumpRaw()) {
      const auto table = static_cast<storage::Table>(place.first);
      if (table == storage::Table::kTokens || table == storage::Table::kStates) raw[place.second] = value;
    }
    return raw;
  }
};

TEST_F(ByteErasureTest, CiphertextLeavesTheFilesAndTheKeysGoBefore) {
  const auto before = RawTokens();
  const std::string vault = test_support::ReadWholeFile(directory_ / "vault/keys");
  Delete(kMemory, {"a3"});
  const auto after = RawTokens();
  std::vector<std::string> gone;
  for (const auto& [key, value] : before) {
    const auto found = after.find(key);
    if (found == after.end() || found->second != value) gone.push_back(value.substr(16));
  }
  ASSERT_EQ(gone.size(), 2U);  // the token, and the old state
  // The two slots differ now, and what they held is in no file.
  const std::string vault_now = test_support::ReadWholeFile(directory_ / "vault/keys");
  ASSERT_EQ(vault_now.size(), vault.size());
  constexpr size_t kSlotBytes = 128;
  size_t changed = 0;
  for (size_t slot = 1; slot * kSlotBytes < vault.size(); ++slot) {
    const std::string old = vault.substr(slot * kSlotBytes, kSlotBytes);
    if (old == vault_now.substr(slot * kSlotBytes, kSlotBytes)) continue;
    ++changed;
    EXPECT_FALSE(FilesHave(old.substr(8, 72))) << slot;
  }
  EXPECT_EQ(changed, 2U);
  for (const std::string& ciphertext : gone) EXPECT_TRUE(FilesHave(ciphertext)) << "the control finds it";
  ASSERT_TRUE(service_->EraseBytes().ok());
  for (const std::string& ciphertext : gone) EXPECT_FALSE(FilesHave(ciphertext));
  for (const auto& [key, value] : RawTokens()) EXPECT_TRUE(FilesHave(value.substr(16)));
}

TEST_F(ByteErasureTest, EveryErasureIsCompletedOnceAlsoOverRestartsAndGoneMemories) {
  Create("other");
  Add(std::string(kTenant) + "/memories/other", {{"x", {"shared"}, 1, 2, 3}, {"y", {"z"}, 2, 2, 3}});
  Add(kMemory, {{"x", {"shared"}, 1, 2, 3}});
  Delete(kMemory, {"a1"});
  EXPECT_EQ(Status().pending_count(), 1U);
  Open();
  EXPECT_EQ(Status().pending_count(), 1U);
  EXPECT_TRUE(Status().has_oldest_age());
  v1::PurgeRequest purge;
  purge.set_parent(kTenant);
  purge.set_subject("shared");
  ASSERT_TRUE(service_->Purge(purge).ok());  // two certificates
  v1::DeleteMemoryRequest remove;
  remove.set_name(kMemory);
  ASSERT_TRUE(service_->DeleteMemory(remove).ok());
  Create("cells");  // the name again
  Add(kMemory, MakePoints("b", 4));
  Delete(kMemory, {"b0"});
  EXPECT_EQ(Status().pending_count(), 4U);
  ASSERT_TRUE(service_->EraseBytes().ok());
  EXPECT_EQ(Status().pending_count(), 0U);
  EXPECT_FALSE(Status().has_oldest_age());
  ExpectPairs(5);
  ASSERT_TRUE(service_->EraseBytes().ok());
  Open();
  ASSERT_TRUE(service_->EraseBytes().ok());
  ExpectPairs(5);
}

TEST_F(ByteErasureTest, TheServiceDoesItByItselfWithinTheTime) {
  options_.erase_bytes_within = std::chrono::milliseconds(300);
  Open();
  Delete(kMemory, {"a1"});
  for (int i = 0; i < 3000 && Status().pending_count() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(Status().last_error(), "");
  ExpectPairs(1);
}

TEST_F(ByteErasureTest, ADatabaseOlderThanItsVaultIsRefused) {
  Close();
  std::filesystem::copy(directory_ / "data", directory_ / "copy", std::filesystem::copy_options::recursive);
  Open();
  Delete(kMemory, {"a3"});
  Close();
  std::filesystem::remove_all(directory_ / "data");
  std::filesystem::rename(directory_ / "copy", directory_ / "data");
  EXPECT_TRUE(Fails(TryOpen(), Reason::kStorageCorrupt, ""));
}

TEST_F(ByteErasureTest, AMissingVaultOrAnotherMasterKeyIsRefused) {
  Close();
  std::filesystem::rename(directory_ / "vault", directory_ / "elsewhere");
  EXPECT_TRUE(Fails(TryOpen(), Reason::kStorageCorrupt, ""));
  std::filesystem::rename(directory_ / "elsewhere", directory_ / "vault");
  const std::string key = test_support::ReadWholeFile(directory_ / "master.key");
  const std::string vault = test_support::ReadWholeFile(directory_ / "vault/keys");
  std::string other = key;
  other[0] = other[0] == '0' ? '1' : '0';
  std::ofstream(directory_ / "master.key") << other;
  const absl::Status status = TryOpen();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(test_support::ReadWholeFile(directory_ / "vault/keys"), vault);
  std::ofstream(directory_ / "master.key") << key;
  Open();
  EXPECT_EQ(Full(kMemory).token_count(), 12U);
}

// The database has the deletion, and the vault still has the keys: killed between the two.
TEST_F(ByteErasureTest, StartUpDestroysTheKeysThatACrashLeft) {
  const std::string vault = test_support::ReadWholeFile(directory_ / "vault/keys");
  const std::string certificate = Delete(kMemory, {"a3"}, "erase-1").certificate().envelope();
  const std::string destroyed = test_support::ReadWholeFile(directory_ / "vault/keys");
  Close();
  std::ofstream(directory_ / "vault/keys", std::ios::binary) << vault;
  Open();
  const std::string now = test_support::ReadWholeFile(directory_ / "vault/keys");
  constexpr size_t kSlotBytes = 128;
  for (size_t slot = 1; slot * kSlotBytes < vault.size(); ++slot) {
    const std::string old = vault.substr(slot * kSlotBytes, kSlotBytes);
    if (old == destroyed.substr(slot * kSlotBytes, kSlotBytes)) continue;
    EXPECT_NE(now.substr(slot * kSlotBytes, kSlotBytes), old) << slot;
  }
  EXPECT_EQ(Full(kMemory).token_count(), 11U);
  EXPECT_EQ(Delete(kMemory, {"a3"}, "erase-1").certificate().envelope(), certificate);
}

}  // namespace
}  // namespace expunge::core
