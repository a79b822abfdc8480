// A data directory whose master key a token keeps: what a start refuses, and that it touches nothing then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>

#include "storage/sealed_store.h"
#include "storage/token_master_key.h"
#include "tests/storage/backup_support.h"
#include "tests/storage/vault_support.h"
#include "tests/support/directory_state.h"
#include "tests/support/files.h"
#include "tests/support/soft_token.h"

namespace expunge::storage {
namespace {

using test_support::kPin;
using test_support::SoftToken;
using test_support::StateOf;
using test_support::TemporaryDirectory;
using test_support::WriteWholeFile;
using ::testing::HasSubstr;

class TokenStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!SoftToken::Available()) GTEST_SKIP() << "SoftHSM is not installed (package softhsm2)";
    hsm_ = std::make_unique<SoftToken>("token");
    WriteWholeFile(directory_ / "pin", kPin);
    ASSERT_EQ(::chmod((directory_ / "pin").c_str(), 0600), 0);
  }

  [[nodiscard]] SealedStoreOptions OnToken(const std::string& name) const {
    SealedStoreOptions options = Under(directory_ / name);
    options.master_key = MasterKeyOnToken({SoftToken::Module(), token_, "expunge-master", directory_ / pin_,
                                           directory_ / name + "/master.key.p11"});
    return options;
  }
  // A directory with one record.
  void Fill(const std::string& name) const {
    const auto store = OpenSealed(OnToken(name));
    ASSERT_NE(store, nullptr);
    Tokens tokens(store.get(), "tenant");
    tokens.Add("one");
  }
  // Refused with these words, and not a byte of the directory has changed.
  void ExpectRefusal(const SealedStoreOptions& options, const std::string& name,
                     const std::string& text) const {
    const auto before = StateOf(directory_ / name);
    const absl::Status status = SealedStore::Open(options).status();
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_EQ(StateOf(directory_ / name), before);
  }

  TemporaryDirectory directory_;
  std::unique_ptr<SoftToken> hsm_;
  std::string token_ = "token";
  std::string pin_ = "pin";
};

TEST_F(TokenStoreTest, ItsRecordsAreThereAfterARestart) {
  Fill("data");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "data/master.key"));
  EXPECT_TRUE(std::filesystem::exists(directory_ / "data/master.key.p11"));
  const auto store = OpenSealed(OnToken("data"));
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(ContentOf(*store).size(), 3U) << "tenant, state, token";
  ExpectWhole(*store);
}

TEST_F(TokenStoreTest, AStartThatIsRefusedTouchesNothing) {
  Fill("data");
  WriteWholeFile(directory_ / "wrong", "161803");
  ASSERT_EQ(::chmod((directory_ / "wrong").c_str(), 0600), 0);
  pin_ = "wrong";
  ExpectRefusal(OnToken("data"), "data", "PIN");
  pin_ = "pin";
  token_ = "absent";
  ExpectRefusal(OnToken("data"), "data", "absent");
  token_ = "token";
  ExpectRefusal(Under(directory_ / "data"), "data", "--master-key-module");
  hsm_->DeleteKeys("token", "expunge-master");
  ExpectRefusal(OnToken("data"), "data", "no AES key");
}

// The master key is in no backup: whoever restores one has the sealed file, and the token.
TEST_F(TokenStoreTest, ABackupIsRestoredWithTheSealedFileAndTheTokenAlone) {
  Fill("data");
  {
    const auto store = OpenSealed(OnToken("data"));
    ASSERT_NE(store, nullptr);
    MustBackUp(*store, PlacesUnder(directory_.path()));
  }
  EXPECT_EQ(BeginRestore(PlacesUnder(directory_.path()), OnToken("new")).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "new/db"));
  std::filesystem::create_directory(directory_ / "new");
  std::filesystem::copy_file(directory_ / "data/master.key.p11", directory_ / "new/master.key.p11");
  const auto begun = BeginRestore(PlacesUnder(directory_.path()), OnToken("new"));
  ASSERT_TRUE(begun.ok()) << begun.status();
  ASSERT_TRUE(FinishRestore(OnToken("new")).ok());
  const auto store = OpenSealed(OnToken("new"));
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(ContentOf(*store).size(), 3U);
  ExpectWhole(*store);
}

TEST_F(TokenStoreTest, TwoDirectoriesOfOneTokenHaveMasterKeysOfTheirOwn) {
  Fill("first");
  Fill("second");
  EXPECT_EQ(hsm_->CountKeys("token", "expunge-master"), 1U);
  std::filesystem::copy_file(directory_ / "first/master.key.p11", directory_ / "second/master.key.p11",
                             std::filesystem::copy_options::overwrite_existing);
  ExpectRefusal(OnToken("second"), "second", "another master key");
  EXPECT_NE(OpenSealed(OnToken("first")), nullptr);
}

}  // namespace
}  // namespace expunge::storage
