// KeyInFile, and what every signer promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>

#include "certificate/key_keeper.h"
#include "certificate/signer.h"
#include "tests/certificate/fixtures.h"
#include "tests/support/files.h"

namespace expunge::certificate {
namespace {

namespace fs = std::filesystem;
using testing::ReadBytes;

class FaultySigner : public Signer {
 public:
  explicit FaultySigner(const SigningKey& key) : Signer(key.Public(), "a test"), key_(key) {}

 private:
  absl::StatusOr<std::string> MakeSignature(absl::string_view message) const override {
    std::string signature = key_.Sign(message);
    signature[10] = static_cast<char>(signature[10] ^ 4);
    return signature;
  }
  const SigningKey key_;
};

TEST(SignerTest, GivesOutNoSignatureThatDoesNotVerify) {
  const FaultySigner signer(testing::TestKey());
  EXPECT_EQ(signer.Sign("message").status().code(), absl::StatusCode::kInternal);
}

TEST(SignerTest, SignsAsItsKeyUntilItIsRetired) {
  const auto signer = SignerOf(testing::TestKey());
  EXPECT_EQ(signer->KeyId(), testing::TestKey().Public().KeyId());
  EXPECT_EQ(signer->Sign("message").value(), testing::TestKey().Sign("message"));
  signer->Retire();
  EXPECT_EQ(signer->Sign("message").status().code(), absl::StatusCode::kFailedPrecondition);
}

class KeyFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] size_t Files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(directory_.path()), {}));
  }

  const test_support::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "signing.pem";
  const std::shared_ptr<KeyKeeper> keeper_ = KeyInFile(path_);
};

TEST_F(KeyFileTest, TheNextKeyTakesTheActiveOnesPlace) {
  EXPECT_TRUE(absl::IsNotFound(keeper_->Load().status()));
  const std::string first = (*keeper_->LoadOrCreate())->KeyId();
  EXPECT_EQ((*keeper_->Load())->KeyId(), first);
  EXPECT_TRUE(absl::IsNotFound(keeper_->LoadNext().status()));
  const std::string next = (*keeper_->PrepareNext())->KeyId();
  EXPECT_NE(next, first);
  EXPECT_EQ((*keeper_->Load())->KeyId(), first);
  EXPECT_EQ((*keeper_->LoadNext())->KeyId(), next);
  ASSERT_TRUE(keeper_->Promote().ok());
  EXPECT_EQ((*keeper_->Load())->KeyId(), next);
  EXPECT_TRUE(absl::IsNotFound(keeper_->LoadNext().status()));
  EXPECT_EQ(Files(), 1U);
}

TEST_F(KeyFileTest, ANextKeyThatIsNotWantedIsDestroyed) {
  const std::string first = (*keeper_->LoadOrCreate())->KeyId();
  const std::string dropped = (*keeper_->PrepareNext())->KeyId();
  EXPECT_NE((*keeper_->PrepareNext())->KeyId(), dropped) << "one that was left over is not taken up";
  ASSERT_TRUE(keeper_->DropNext().ok());
  ASSERT_TRUE(keeper_->DropNext().ok());
  EXPECT_TRUE(absl::IsNotFound(keeper_->LoadNext().status()));
  EXPECT_EQ((*keeper_->Load())->KeyId(), first);
  EXPECT_EQ(Files(), 1U);
}

// A second name for the file shows what became of its bytes.
TEST_F(KeyFileTest, TheOldKeysBytesAreOverwritten) {
  ASSERT_TRUE(keeper_->LoadOrCreate().ok());
  const std::string old_name = directory_ / "second name of the old one";
  fs::create_hard_link(path_, old_name);
  ASSERT_EQ(::chmod(path_.c_str(), 0400), 0);
  const size_t size = ReadBytes(old_name).size();
  ASSERT_TRUE(keeper_->PrepareNext().ok());
  const std::string next_name = directory_ / "second name of the next one";
  fs::create_hard_link(path_ + kNextKeySuffix, next_name);
  ASSERT_TRUE(keeper_->DropNext().ok());
  EXPECT_EQ(ReadBytes(next_name), std::string(size, '\0'));
  ASSERT_TRUE(keeper_->PrepareNext().ok());
  ASSERT_TRUE(keeper_->Promote().ok());
  EXPECT_EQ(ReadBytes(old_name), std::string(size, '\0'));
}

// As after a crash in the middle: the old key is overwritten, and the next one is not yet in its place.
TEST_F(KeyFileTest, APromotionThatWasCutOffIsFinished) {
  ASSERT_TRUE(keeper_->LoadOrCreate().ok());
  const std::string next = (*keeper_->PrepareNext())->KeyId();
  testing::WriteBytes(path_, std::string(119, '\0'));
  EXPECT_FALSE(keeper_->Load().ok());
  EXPECT_EQ((*keeper_->LoadNext())->KeyId(), next);
  ASSERT_TRUE(keeper_->Promote().ok());
  EXPECT_EQ((*keeper_->Load())->KeyId(), next);
  ASSERT_TRUE(keeper_->PrepareNext().ok());
  fs::remove(path_);
  ASSERT_TRUE(keeper_->Promote().ok()) << "there need not be an old one";
}

}  // namespace
}  // namespace expunge::certificate
