// The golden certificates: what is written today, and what every damage to it is called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "certificate/envelope.h"
#include "certificate/statement.h"
#include "tests/certificate/fixtures.h"

namespace expunge::certificate {
namespace {

using testing::GoldenCase;

std::vector<PublicKey> Keys() { return {testing::TestKey().Public()}; }

class GoldenTest : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenTest, EncodingAndSealingGiveTheGoldenBytes) {
  const std::string payload = testing::GoldenPayload(GetParam());
  EXPECT_EQ(Seal(payload, testing::TestKey()), testing::ReadBytes(testing::GoldenPath(GetParam().file)));
}

TEST_P(GoldenTest, VerifiesAndReturnsTheExactPayload) {
  const std::string envelope = testing::ReadBytes(testing::GoldenPath(GetParam().file));
  const VerifyResult result = VerifyEnvelope(envelope, Keys());
  EXPECT_EQ(VerifyReasonName(result.reason), "OK");
  EXPECT_EQ(result.payload, testing::GoldenPayload(GetParam()));
  EXPECT_EQ(result.key_id, Keys().front().KeyId());
  EXPECT_TRUE(Keys().front().Verify(PreAuthEncoding(kPayloadType, result.payload), result.signature));
}

TEST_P(GoldenTest, EveryTruncationIsRefused) {
  const std::string envelope = testing::ReadBytes(testing::GoldenPath(GetParam().file));
  const std::vector<PublicKey> keys = Keys();
  EXPECT_EQ(VerifyEnvelope("", keys).reason, VerifyReason::kEmpty);
  for (size_t size = 1; size < envelope.size(); ++size) {
    const VerifyResult result = VerifyEnvelope(envelope.substr(0, size), keys);
    ASSERT_EQ(result.reason, VerifyReason::kNotJson) << size;
    ASSERT_TRUE(result.payload.empty() && result.key_id.empty() && result.signature.empty());
  }
}

TEST_P(GoldenTest, AnyByteAppendedIsRefused) {
  const std::string envelope = testing::ReadBytes(testing::GoldenPath(GetParam().file));
  const std::vector<PublicKey> keys = Keys();
  for (int byte = 0; byte < 256; ++byte) {
    const VerifyReason reason = VerifyEnvelope(envelope + static_cast<char>(byte), keys).reason;
    ASSERT_NE(reason, VerifyReason::kOk) << byte;
  }
  EXPECT_EQ(VerifyEnvelope(envelope + "\n", keys).reason, VerifyReason::kNotCanonical);
}

TEST_P(GoldenTest, AFlippedBitInEachByteIsRefused) {
  const std::string envelope = testing::ReadBytes(testing::GoldenPath(GetParam().file));
  const std::vector<PublicKey> keys = Keys();
  for (size_t i = 0; i < envelope.size(); ++i) {
    std::string damaged = envelope;
    damaged[i] = static_cast<char>(static_cast<unsigned char>(envelope[i]) ^ (1U << i % 8));
    ASSERT_NE(VerifyEnvelope(damaged, keys).reason, VerifyReason::kOk) << "byte " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, GoldenTest, ::testing::ValuesIn(testing::kGoldenCases), [](const auto& test) {
  const auto name = std::string(KindName(test.param.kind));
  return test.param.second ? name + "_SECOND" : name;
});

// Every bit of the shortest one. One case a bit of the byte, so that they can run side by side.
class GoldenBitTest : public ::testing::TestWithParam<int> {};

TEST_P(GoldenBitTest, FlippingItInAnyByteIsRefused) {
  const std::string envelope = testing::ReadBytes(testing::GoldenPath(testing::kGoldenCases[2].file));
  const std::vector<PublicKey> keys = Keys();
  ASSERT_EQ(VerifyEnvelope(envelope, keys).reason, VerifyReason::kOk);
  std::string damaged = envelope;
  for (size_t i = 0; i < damaged.size(); ++i) {
    damaged[i] = static_cast<char>(static_cast<unsigned char>(envelope[i]) ^ (1U << GetParam()));
    const VerifyResult result = VerifyEnvelope(damaged, keys);
    ASSERT_NE(result.reason, VerifyReason::kOk) << "byte " << i;
    ASSERT_TRUE(result.payload.empty() && result.key_id.empty() && result.signature.empty());
    damaged[i] = envelope[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Bits, GoldenBitTest, ::testing::Range(0, 8));

TEST(GoldenKeyTest, IsThePublishedTestKey) {
  // RFC 8032, 7.1, TEST 1.
  EXPECT_EQ(testing::ReadBytes(testing::GoldenPath("test_only_key.pem")),
            testing::PrivatePemOfSeed("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"));
  EXPECT_EQ(testing::ReadBytes(testing::GoldenPath("test_only_key.pub.pem")), Keys().front().ToPem());
}

}  // namespace
}  // namespace expunge::certificate
