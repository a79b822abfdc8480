#include "certificate/log/leaf.h"

#include <gtest/gtest.h>

#include <string>

#include "base/hash.h"
#include "tests/certificate/fixtures.h"

namespace expunge::certificate {
namespace {

using testing::FixedPayload;
using testing::TestKey;

TEST(LogLeafTest, HoldsHashSignatureAndKey) {
  const SigningKey key = TestKey();
  const std::string payload = FixedPayload(Kind::kDeletion);
  const std::string envelope = Seal(payload, key);
  const PublicKey keys[] = {key.Public()};
  const VerifyResult verified = VerifyEnvelope(envelope, keys);
  ASSERT_EQ(verified.reason, VerifyReason::kOk);

  const std::string entry = LogLeafOf(verified);
  ASSERT_EQ(entry.size(), kLogLeafBytes);
  EXPECT_EQ(entry, MakeLogLeaf(payload, verified.signature, key.Public().KeyId()).value());
  const auto leaf = ParseLogLeaf(entry);
  ASSERT_TRUE(leaf.has_value());
  EXPECT_EQ(leaf->pae_sha256, Sha256(PreAuthEncoding(kPayloadType, payload)));
  EXPECT_EQ(leaf->signature, key.Sign(PreAuthEncoding(kPayloadType, payload)));
  EXPECT_EQ(ToHex(AsView(leaf->key_sha256)), key.Public().KeyId());
}

TEST(LogLeafTest, RefusesOtherLengths) {
  const std::string id = TestKey().Public().KeyId();
  const std::string signature(64, 's');
  EXPECT_TRUE(MakeLogLeaf("payload", signature, id).ok());
  EXPECT_FALSE(MakeLogLeaf("payload", signature + "s", id).ok());
  EXPECT_FALSE(MakeLogLeaf("payload", signature.substr(1), id).ok());
  EXPECT_FALSE(MakeLogLeaf("payload", signature, id.substr(2)).ok());
  EXPECT_FALSE(MakeLogLeaf("payload", signature, "not hexadecimal").ok());
  for (const size_t size : {0, 127, 129}) EXPECT_FALSE(ParseLogLeaf(std::string(size, 'x')).has_value());
}

}  // namespace
}  // namespace expunge::certificate
