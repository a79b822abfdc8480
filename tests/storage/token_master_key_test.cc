// The master key from a token, with SoftHSM as the token.
#include "storage/token_master_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "tests/storage/vault_support.h"
#include "tests/support/documents.h"
#include "tests/support/files.h"
#include "tests/support/soft_token.h"

namespace expunge::storage {
namespace {

using test_support::kPin;
using test_support::Master;
using test_support::ReadWholeFile;
using test_support::SoftToken;
using test_support::TemporaryDirectory;
using test_support::WriteWholeFile;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kToken[] = "first token";
constexpr char kKey[] = "expunge-master";

class TokenMasterKeyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!SoftToken::Available()) GTEST_SKIP() << "SoftHSM is not installed (package softhsm2)";
    hsm_ = std::make_unique<SoftToken>(kToken);
    options_ = {SoftToken::Module(), kToken, kKey, directory_ / "pin", directory_ / "sealed"};
    WritePin(std::string(kPin) + "\n");
  }

  void WritePin(const std::string& text, mode_t mode = 0600) const {
    WriteWholeFile(options_.pin_file, text);
    ASSERT_EQ(::chmod(options_.pin_file.c_str(), mode), 0);
  }
  [[nodiscard]] absl::StatusOr<SecretKey> Load(bool may_create) const {
    return MasterKeyOnToken(options_)->Load(may_create);
  }
  // The key's bytes, which must load.
  std::string Loaded(bool may_create = false) const {
    const auto key = Load(may_create);
    EXPECT_TRUE(key.ok()) << key.status();
    return key.ok() ? std::string(key->view()) : std::string();
  }
  // That loading fails thus, changes no file, and that the message says this.
  void ExpectRefusal(absl::StatusCode code, const std::string& text) const {
    const std::string before = ReadWholeFile(options_.sealed_file);
    const size_t keys = hsm_->CountKeys(kToken, kKey);
    for (const bool may_create : {false, true}) {
      const absl::Status status = Load(may_create).status();
      EXPECT_EQ(status.code(), code) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(text));
      EXPECT_THAT(std::string(status.message()), Not(HasSubstr(kPin)));
    }
    EXPECT_EQ(ReadWholeFile(options_.sealed_file), before);
    EXPECT_EQ(hsm_->CountKeys(kToken, kKey), keys);
  }

  // The same where there is no sealed file yet: without leave to make one, that is what is missing.
  void ExpectRefusalWhenMaking(const std::string& text) const {
    const size_t keys = hsm_->CountKeys(kToken, kKey);
    const absl::Status status = Load(true).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(options_.sealed_file));
    EXPECT_EQ(hsm_->CountKeys(kToken, kKey), keys);
  }

  TemporaryDirectory directory_;
  std::unique_ptr<SoftToken> hsm_;
  TokenMasterKeyOptions options_;
};

TEST_F(TokenMasterKeyTest, IsMadeOnceSealedByAKeyThatTheTokenKeeps) {
  const std::string made = Loaded(true);
  ASSERT_EQ(made.size(), 32U);
  for (const bool may_create : {false, true}) EXPECT_EQ(Loaded(may_create), made);
  EXPECT_EQ(hsm_->CountKeys(kToken, kKey), 1U);
  EXPECT_FALSE(hsm_->GivesOut(kToken, kKey));
  const std::string sealed = ReadWholeFile(options_.sealed_file);
  EXPECT_EQ(sealed.size(), 128U);
  EXPECT_THAT(sealed, Not(HasSubstr(made)));
  struct stat status {};
  ASSERT_EQ(::stat(options_.sealed_file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 2) << "sealed, pin";
}

TEST_F(TokenMasterKeyTest, TheTestWouldNoticeAKeyThatIsGivenOut) {
  hsm_->PutKey(kToken, "open", std::string(32, 'k'), {false, true});
  EXPECT_TRUE(hsm_->GivesOut(kToken, "open"));
}

TEST_F(TokenMasterKeyTest, CertificatesAreToldWhereItWas) {
  const std::string token = MasterKeyOnToken(options_)->custody();
  EXPECT_THAT(token, HasSubstr("PKCS#11 token holds and does not give out"));
  EXPECT_EQ(MasterKeyInFile("f")->custody(), "a master key from a file");
}

TEST_F(TokenMasterKeyTest, IsMissingUnlessItMayBeMade) {
  const absl::Status status = Load(false).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot be read"));
  EXPECT_EQ(hsm_->CountKeys(kToken, kKey), 0U);
  EXPECT_FALSE(std::filesystem::exists(options_.sealed_file));
}

// As after a crash between the token's key and the file, and as a second directory does.
TEST_F(TokenMasterKeyTest, AKeyThatTheTokenHasAlreadyIsUsed) {
  hsm_->PutKey(kToken, kKey, std::string(32, 'k'));
  const std::string made = Loaded(true);
  EXPECT_EQ(hsm_->CountKeys(kToken, kKey), 1U);
  const std::string first = options_.sealed_file;
  options_.sealed_file = directory_ / "second";
  EXPECT_NE(Loaded(true), made);
  EXPECT_EQ(hsm_->CountKeys(kToken, kKey), 1U);
  options_.sealed_file = first;
  EXPECT_EQ(Loaded(), made);
}

TEST_F(TokenMasterKeyTest, AWrongPinIsRefusedAndSaysThatTheTokenMayLock) {
  const std::string made = Loaded(true);
  WritePin("314159\n");
  ExpectRefusal(absl::StatusCode::kPermissionDenied, "may lock the token");
  WritePin("1");
  ExpectRefusal(absl::StatusCode::kPermissionDenied, "may lock the token");
  WritePin(kPin);
  EXPECT_EQ(Loaded(), made);
}

TEST_F(TokenMasterKeyTest, TheFileWithThePinIsHeldToAMasterKeysRules) {
  const std::string made = Loaded(true);
  for (const mode_t mode : {0640U, 0604U, 0644U}) {
    WritePin(kPin, mode);
    ExpectRefusal(absl::StatusCode::kPermissionDenied, "chmod 600");
  }
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string(kPin) + "\n\n", std::string(300, '1')}) {
    WritePin(text);
    ExpectRefusal(absl::StatusCode::kInvalidArgument, "no log-in was tried");
  }
  options_.pin_file = directory_ / "absent";
  ExpectRefusal(absl::StatusCode::kNotFound, options_.pin_file);
  WritePin(kPin, 0400);
  EXPECT_EQ(Loaded(), made);
}

TEST_F(TokenMasterKeyTest, AModuleThatCannotBeLoadedIsNamed) {
  const std::string made = Loaded(true);
  const std::string text = directory_ / "module.so";
  WriteWholeFile(text, "no library");
  for (const std::string& path : {directory_ / "gone.so", text, std::string("libz.so.1")}) {
    options_.module = path;
    ExpectRefusal(absl::StatusCode::kNotFound, path);
  }
  options_.module = SoftToken::Module();
  EXPECT_EQ(Loaded(), made);
}

TEST_F(TokenMasterKeyTest, ATokenThatIsAbsentOrThereTwiceIsNamed) {
  const std::string made = Loaded(true);
  options_.token = "no such token";
  ExpectRefusal(absl::StatusCode::kNotFound, "no such token");
  options_.token = "";  // as a slot without an initialised token calls itself
  ExpectRefusal(absl::StatusCode::kNotFound, "token");
  options_.token = kToken;
  EXPECT_EQ(Loaded(), made);
  hsm_->AddToken("twin");
  hsm_->AddToken("twin");
  options_.token = "twin";
  ExpectRefusal(absl::StatusCode::kFailedPrecondition, "2 tokens labelled twin");
}

TEST_F(TokenMasterKeyTest, AFileWithoutItsKeyIsRefusedAndNoKeyIsMade) {
  const std::string made = Loaded(true);
  hsm_->DeleteKeys(kToken, kKey);
  ExpectRefusal(absl::StatusCode::kNotFound, "has no AES key labelled expunge-master");
  options_.key = "another label";
  ExpectRefusal(absl::StatusCode::kNotFound, "has no AES key labelled another label");
}

TEST_F(TokenMasterKeyTest, TheKeyOfAnotherTokenIsRefused) {
  const std::string made = Loaded(true);
  hsm_->AddToken("second token");
  hsm_->PutKey("second token", kKey, std::string(32, 'k'));
  options_.token = "second token";
  ExpectRefusal(absl::StatusCode::kFailedPrecondition, "did not seal the master key");
  options_.token = kToken;
  EXPECT_EQ(Loaded(), made);
}

TEST_F(TokenMasterKeyTest, AKeyThatCouldLeaveTheTokenOrIsShortOrDoubleIsRefused) {
  const std::string key(32, 'k');
  hsm_->PutKey(kToken, kKey, key, {true, true});
  ExpectRefusalWhenMaking("can be read out");
  hsm_->DeleteKeys(kToken, kKey);
  hsm_->PutKey(kToken, kKey, key, {false, false});
  ExpectRefusalWhenMaking("can be read out");
  hsm_->DeleteKeys(kToken, kKey);
  hsm_->PutKey(kToken, kKey, std::string(16, 'k'));
  ExpectRefusalWhenMaking("has 128 bits");
  hsm_->DeleteKeys(kToken, kKey);
  for (int i = 0; i < 2; ++i) hsm_->PutKey(kToken, kKey, key);
  ExpectRefusalWhenMaking("more than one");
  EXPECT_FALSE(std::filesystem::exists(options_.sealed_file));
}

TEST_F(TokenMasterKeyTest, ADamagedFileIsNoticedBeforeTheTokenIsAsked) {
  Loaded(true);
  const std::string good = ReadWholeFile(options_.sealed_file);
  WritePin("wrong: it must not be tried");
  for (const size_t at : {size_t{0}, size_t{9}, size_t{20}, size_t{40}, size_t{80}, size_t{127}}) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    WriteWholeFile(options_.sealed_file, damaged);
    ExpectRefusal(at < 8 ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kDataLoss, "damaged");
  }
  WriteWholeFile(options_.sealed_file, good.substr(0, 100));
  ExpectRefusal(absl::StatusCode::kDataLoss, "damaged");
}

// Damage whose checksum somebody made right again: the tag in the token notices it.
TEST_F(TokenMasterKeyTest, AForgedFileDoesNotOpen) {
  Loaded(true);
  const std::string good = ReadWholeFile(options_.sealed_file);
  for (size_t at = 16; at < 76; at += 3) {
    std::string forged = good;
    forged[at] = static_cast<char>(forged[at] ^ 1);
    const Digest sum = Sha256(absl::string_view(forged).substr(0, 96));
    forged.replace(96, 32, std::string(AsView(sum)));
    WriteWholeFile(options_.sealed_file, forged);
    const absl::Status status = Load(false).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << at << ": " << status;
  }
}

TEST_F(TokenMasterKeyTest, TheExampleOfTheDocumentIsOpened) {
  const std::string example =
      test_support::ExampleAfter(EXPUNGE_VAULT_PAGE, "The sealed file has\n128 bytes:");
  ASSERT_EQ(example.size(), 128U);
  hsm_->PutKey(kToken, kKey, std::string(Master(0x80).view()));
  WriteWholeFile(options_.sealed_file, example);
  ASSERT_EQ(::chmod(options_.sealed_file.c_str(), 0600), 0);
  EXPECT_EQ(Loaded(), std::string(Master().view()));
}

}  // namespace
}  // namespace expunge::storage
