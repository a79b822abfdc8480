// Key sets over a restore, and keys in a token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "certificate/key_chain.h"
#include "storage/token_signer.h"
#include "tests/server/core/keys_fixture.h"
#include "tests/support/soft_token.h"

namespace expunge::core {
namespace {

using certificate::KeyChainReason;
using test_support::SoftToken;
using ::testing::HasSubstr;

class KeyRestoreTest : public KeysTest {
 protected:
  void SetUp() override {
    options_.ledger_copy_file = directory_ / "ledger";
    KeysTest::SetUp();
    Certify();
    Rotate();
    BackUp();
  }

  // Without the proofs of inclusion, which are of the log as it is now.
  [[nodiscard]] std::string LastingKeys() const {
    v1::ListSigningKeysResponse listed = Listed();
    listed.clear_log_proofs();
    return listed.SerializeAsString();
  }
  // What a restore has to bring back: rotations of both keys, with certificates between them.
  void GoOn() {
    now_ += absl::Hours(1);
    Rotate();
    Certify();
    Rotate(v1::KEY_USE_CHECKPOINT);
    Delete(kMemory, {"p3"});
    now_ += absl::Hours(1);
    Rotate();
  }
};

TEST_F(KeyRestoreTest, RotationsSinceTheBackupAreInTheCopyOfTheLedger) {
  GoOn();
  const std::string before = LastingKeys();
  const auto report = RestoreFrom(directory_ / "ledger", "");
  ASSERT_TRUE(report.ok()) << report.status();
  TakeRestored();
  Open();
  EXPECT_EQ(LastingKeys(), before);
  Certify();
  Rotate();
  ExpectAllVerifies();
}

TEST_F(KeyRestoreTest, AndInTheDatabaseThatIsReplaced) {
  GoOn();
  const std::string before = LastingKeys();
  const auto report = RestoreFrom("", directory_ / "data");
  ASSERT_TRUE(report.ok()) << report.status();
  TakeRestored();
  Open();
  EXPECT_EQ(LastingKeys(), before);
  Certify();
  ExpectAllVerifies();
}

TEST_F(KeyRestoreTest, ALostLedgerWithTheSameKeysGoesOnWithTheChainUnderANewOrigin) {
  const v1::ListSigningKeysResponse before = Listed();
  Certify();
  const auto report = RestoreFrom("", "");
  ASSERT_TRUE(report.ok()) << report.status();
  TakeRestored();
  Open();
  const v1::ListSigningKeysResponse after = Listed();
  ASSERT_EQ(after.key_sets_size(), before.key_sets_size() + 1);
  EXPECT_EQ(after.key_sets(2), before.key_sets(2));
  EXPECT_NE(after.log_origin(), before.log_origin());
  Certify();
  ExpectAllVerifies();
}

TEST_F(KeyRestoreTest, ALostLedgerWithOtherKeysBeginsANewChainThatOnlyTheNewKeyOpens) {
  const std::string old = ActiveId(v1::KEY_USE_CERTIFICATE);
  const std::vector<v1::Certificate> issued = Certificates();
  GoOn();
  const std::string present = ActiveId(v1::KEY_USE_CERTIFICATE);
  const auto report = RestoreFrom("", "");
  ASSERT_TRUE(report.ok()) << report.status();
  TakeRestored();
  Open();
  EXPECT_EQ(Listed().key_sets_size(), 1);
  EXPECT_EQ(ActiveId(v1::KEY_USE_CERTIFICATE), present);
  EXPECT_EQ(ChainFrom(old).reason, KeyChainReason::kUnpinned);
  const certificate::KeyChain chain = ChainFrom(present);
  ASSERT_EQ(chain.reason, KeyChainReason::kOk);
  Certify();
  Rotate();
  // Those from before verify, too: the new set lists their keys.
  ASSERT_FALSE(issued.empty());
  for (const v1::Certificate& certificate : Certificates()) {
    EXPECT_EQ(Verdict(certificate, ChainFrom(present).sets.back()), certificate::KeyWindowReason::kOk)
        << certificate.name();
  }
}

TEST_F(KeyRestoreTest, AFormerKeysFileIsRefusedEvenThen) {
  std::filesystem::copy_file(KeyFile(), directory_ / "former.pem");
  Rotate();
  BackUp("later");
  Close();
  std::filesystem::copy_file(directory_ / "former.pem", KeyFile(),
                             std::filesystem::copy_options::overwrite_existing);
  const absl::Status status = RestoreFrom("", "", "later").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("retired before"));
}

TEST(TokenKeysTest, AServiceSignsAndRotatesWithKeysThatNeverLeaveTheirToken) {
  if (!SoftToken::Available()) GTEST_SKIP() << "SoftHSM is not installed (package softhsm2)";
  const SoftToken hsm("keys");
  const test_support::TemporaryDirectory directory;
  std::ofstream(directory / "pin") << test_support::kPin;
  ASSERT_EQ(::chmod((directory / "pin").c_str(), 0600), 0);
  std::vector<std::string> ids;
  for (int start = 0; start < 2; ++start) {
    const auto keys = storage::SigningKeysOnToken(
        {SoftToken::Module(), "keys", directory / "pin", "certificates", "checkpoints"});
    ASSERT_TRUE(keys.ok()) << keys.status();
    auto store = storage::SealedStore::Open({directory / "data", "", "", {}});
    ASSERT_TRUE(store.ok()) << store.status();
    auto service = Service::Open(*std::move(store), {keys->certificate, keys->checkpoint}, SystemClock());
    ASSERT_TRUE(service.ok()) << service.status();
    const auto listed = (*service)->ListSigningKeys({});
    ASSERT_TRUE(listed.ok()) << listed.status();
    ids.push_back(listed->keys(listed->keys_size() - 1 - (start == 0 ? 1 : 0)).key_id());
    EXPECT_THAT(listed->keys(0).custody(), HasSubstr("PKCS#11"));
    v1::RotateSigningKeyRequest request;
    request.set_use(v1::KEY_USE_CERTIFICATE);
    request.set_key_id(ids.back());
    const auto rotated = (*service)->RotateSigningKey(request);
    ASSERT_TRUE(rotated.ok()) << rotated.status();
  }
  EXPECT_NE(ids[0], ids[1]) << "the second start found the key of the first rotation";
  EXPECT_EQ(hsm.CountKeys("keys", "certificates"), 2U);
  EXPECT_EQ(hsm.CountKeys("keys", "certificates.next"), 0U);
  EXPECT_FALSE(hsm.GivesOut("keys", "certificates"));
}

}  // namespace
}  // namespace expunge::core
