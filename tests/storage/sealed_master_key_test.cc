// The sealed file's form, without a token.
#include "storage/sealed_master_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

namespace expunge::storage {
namespace {

using ::testing::HasSubstr;

const SealedMasterKey kKey = {std::string(12, 'i'), std::string(48, 's')};

std::string WithSum(std::string file) {
  const Digest sum = Sha256(absl::string_view(file).substr(0, 96));
  return file.replace(96, 32, std::string(AsView(sum)));
}

TEST(SealedMasterKeyTest, IsReadAsItWasWritten) {
  const std::string file = EncodeSealedMasterKey(kKey);
  EXPECT_EQ(file.size(), kSealedMasterKeyBytes);
  const auto read = DecodeSealedMasterKey(file, "the/path");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->iv, kKey.iv);
  EXPECT_EQ(read->sealed, kKey.sealed);
}

TEST(SealedMasterKeyTest, EveryFlippedBitAndEveryTruncationIsNoticedAndNamesTheFile) {
  const std::string file = EncodeSealedMasterKey(kKey);
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const absl::Status status = DecodeSealedMasterKey(damaged, "the/path").status();
    ASSERT_FALSE(status.ok()) << bit;
    EXPECT_THAT(std::string(status.message()), HasSubstr("the/path"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("damaged"));
  }
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_EQ(GetReason(DecodeSealedMasterKey(file.substr(0, size), "the/path").status()),
              Reason::kStorageCorrupt)
        << size;
  }
  EXPECT_EQ(GetReason(DecodeSealedMasterKey(file + '\0', "the/path").status()), Reason::kStorageCorrupt);
}

TEST(SealedMasterKeyTest, OtherVersionsAndOtherFilesAreRefused) {
  std::string file = EncodeSealedMasterKey(kKey);
  file[8] = 2;
  EXPECT_TRUE(absl::IsFailedPrecondition(DecodeSealedMasterKey(WithSum(file), "p").status()));
  file[8] = 0;
  EXPECT_EQ(GetReason(DecodeSealedMasterKey(WithSum(file), "p").status()), Reason::kStorageCorrupt);
  file = EncodeSealedMasterKey(kKey);
  file[90] = 1;
  EXPECT_EQ(GetReason(DecodeSealedMasterKey(WithSum(file), "p").status()), Reason::kStorageCorrupt);
  const std::string plain = std::string(64, 'a') + "\n";
  EXPECT_TRUE(absl::IsInvalidArgument(DecodeSealedMasterKey(plain, "p").status())) << "an unsealed key";
}

}  // namespace
}  // namespace expunge::storage
