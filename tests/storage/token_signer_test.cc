// Signing keys in a token, with SoftHSM as the token and OpenSSL as the second opinion.
#include "storage/token_signer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "certificate/signing_key.h"
#include "tests/storage/vault_support.h"
#include "tests/support/files.h"
#include "tests/support/soft_token.h"

namespace expunge::storage {
namespace {

using certificate::KeyKeeper;
using test_support::kPin;
using test_support::SoftToken;
using test_support::TemporaryDirectory;
using test_support::WriteWholeFile;
using ::testing::HasSubstr;

constexpr char kToken[] = "first token";
constexpr char kLabel[] = "expunge-certificate";
constexpr char kNextLabel[] = "expunge-certificate.next";

class TokenSignerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!SoftToken::Available()) GTEST_SKIP() << "SoftHSM is not installed (package softhsm2)";
    hsm_ = std::make_unique<SoftToken>(kToken);
    options_ = {SoftToken::Module(), kToken, directory_ / "pin", kLabel, "expunge-checkpoint"};
    WriteWholeFile(options_.pin_file, std::string(kPin) + "\n");
    ASSERT_EQ(::chmod(options_.pin_file.c_str(), 0600), 0);
  }

  [[nodiscard]] TokenSigningKeys Open() const {
    auto keys = SigningKeysOnToken(options_);
    EXPECT_TRUE(keys.ok()) << keys.status();
    return *std::move(keys);
  }
  static std::string IdOf(const absl::StatusOr<KeyKeeper::Key>& key) {
    EXPECT_TRUE(key.ok()) << key.status();
    return key.ok() ? (*key)->KeyId() : std::string();
  }

  TemporaryDirectory directory_;
  std::unique_ptr<SoftToken> hsm_;
  TokenSigningOptions options_;
};

TEST_F(TokenSignerTest, SignsAsOpenSslVerifies) {
  const TokenSigningKeys keys = Open();
  EXPECT_TRUE(absl::IsNotFound(keys.certificate->Load().status()));
  const auto key = keys.certificate->LoadOrCreate();
  ASSERT_TRUE(key.ok()) << key.status();
  for (const std::string& message : {std::string(), std::string("x"), std::string(100'000, 'm')}) {
    const auto signature = (*key)->Sign(message);
    ASSERT_TRUE(signature.ok()) << signature.status();
    // Through the PEM: nothing but the public key reaches the verifier.
    const auto pem = certificate::PublicKey::FromPem((*key)->Public().ToPem());
    ASSERT_TRUE(pem.ok()) << pem.status();
    EXPECT_TRUE(pem->Verify(message, *signature));
    EXPECT_FALSE(pem->Verify(message + "y", *signature));
    EXPECT_EQ(*(*key)->Sign(message), *signature) << "Ed25519 has no randomness";
  }
  EXPECT_THAT((*key)->custody(), HasSubstr("does not give it out"));
}

TEST_F(TokenSignerTest, AKeyIsMadeOnceAndStaysInTheToken) {
  const std::string id = IdOf(Open().certificate->LoadOrCreate());
  {
    const TokenSigningKeys again = Open();
    EXPECT_EQ(IdOf(again.certificate->LoadOrCreate()), id);
    EXPECT_EQ(IdOf(again.certificate->Load()), id);
    EXPECT_NE(IdOf(again.checkpoint->LoadOrCreate()), id);
  }
  EXPECT_EQ(hsm_->CountKeys(kToken, kLabel), 2U) << "the private and the public half";
  EXPECT_FALSE(hsm_->GivesOut(kToken, kLabel));
}

TEST_F(TokenSignerTest, TheNextKeyTakesTheActiveOnesLabelAndTheOldOneIsGone) {
  std::string next;
  {
    const TokenSigningKeys keys = Open();
    const std::string first = IdOf(keys.certificate->LoadOrCreate());
    const auto old = keys.certificate->Load();
    next = IdOf(keys.certificate->PrepareNext());
    EXPECT_NE(next, first);
    EXPECT_EQ(IdOf(keys.certificate->Load()), first);
    EXPECT_EQ(IdOf(keys.certificate->LoadNext()), next);
    ASSERT_TRUE(keys.certificate->Promote().ok());
    EXPECT_EQ(IdOf(keys.certificate->Load()), next);
    EXPECT_TRUE(absl::IsNotFound(keys.certificate->LoadNext().status()));
    EXPECT_FALSE((*old)->Sign("message").ok()) << "it is destroyed in the token";
  }
  EXPECT_EQ(IdOf(Open().certificate->Load()), next);
  EXPECT_EQ(hsm_->CountKeys(kToken, kLabel), 2U);
  EXPECT_EQ(hsm_->CountKeys(kToken, kNextLabel), 0U);
}

TEST_F(TokenSignerTest, ANextKeyThatIsNotWantedIsDestroyed) {
  {
    const TokenSigningKeys keys = Open();
    const std::string first = IdOf(keys.certificate->LoadOrCreate());
    const std::string dropped = IdOf(keys.certificate->PrepareNext());
    EXPECT_NE(IdOf(keys.certificate->PrepareNext()), dropped);
    ASSERT_TRUE(keys.certificate->DropNext().ok());
    ASSERT_TRUE(keys.certificate->DropNext().ok());
    EXPECT_EQ(IdOf(keys.certificate->Load()), first);
  }
  EXPECT_EQ(hsm_->CountKeys(kToken, kNextLabel), 0U);
}

// As after a crash between the destruction of the old key and the new label of the next.
TEST_F(TokenSignerTest, APromotionThatWasCutOffIsFinished) {
  {
    const TokenSigningKeys keys = Open();
    ASSERT_TRUE(keys.certificate->LoadOrCreate().ok());
    ASSERT_TRUE(keys.certificate->PrepareNext().ok());
  }
  hsm_->DeleteKeys(kToken, kLabel);
  const TokenSigningKeys keys = Open();
  EXPECT_TRUE(absl::IsNotFound(keys.certificate->Load().status()));
  const std::string next = IdOf(keys.certificate->LoadNext());
  ASSERT_TRUE(keys.certificate->Promote().ok());
  EXPECT_EQ(IdOf(keys.certificate->Load()), next);
}

TEST_F(TokenSignerTest, ManyThreadsSignAtOnce) {
  const TokenSigningKeys keys = Open();
  const std::vector<std::shared_ptr<const certificate::Signer>> signers = {*keys.certificate->LoadOrCreate(),
                                                                           *keys.checkpoint->LoadOrCreate()};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&signers, t] {
      for (int i = 0; i < 25; ++i) {
        const std::string message = std::to_string(t) + " " + std::to_string(i);
        // Sign verifies: a signature of the other thread's message would be an error.
        EXPECT_TRUE(signers[static_cast<size_t>(t % 2)]->Sign(message).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TokenSignerTest, MistakesAreNamedBeforeAnythingIsMade) {
  options_.checkpoint_key = kLabel;
  EXPECT_TRUE(absl::IsInvalidArgument(SigningKeysOnToken(options_).status()));
  options_.checkpoint_key = "expunge-checkpoint";
  options_.token = "no such token";
  EXPECT_TRUE(absl::IsNotFound(SigningKeysOnToken(options_).status()));
  options_.token = kToken;
  WriteWholeFile(options_.pin_file, "314159");
  EXPECT_TRUE(absl::IsPermissionDenied(SigningKeysOnToken(options_).status()));
  WriteWholeFile(options_.pin_file, "\n");
  EXPECT_TRUE(absl::IsInvalidArgument(SigningKeysOnToken(options_).status()));
  WriteWholeFile(options_.pin_file, kPin);
  hsm_->PutKey(kToken, kLabel, std::string(32, 'k'));
  EXPECT_TRUE(absl::IsNotFound(Open().certificate->Load().status())) << "an AES key of this label is none";
}

}  // namespace
}  // namespace expunge::storage
