#include "certificate/commitment.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstring>
#include <set>

#include "tests/certificate/fixtures.h"

namespace expunge::certificate {
namespace {

using testing::FixedDigest;
using Subjects = std::vector<std::string>;
using Vector = std::vector<double>;

// The layout of the header, written out by hand.
std::string Part(const std::string& bytes) {
  std::string part;
  for (int i = 0; i < 8; ++i) part += static_cast<char>(bytes.size() >> (8 * i) & 0xff);
  return part + bytes;
}

std::string Raw(const Vector& vector) {
  std::string bytes(vector.size() * 8, '\0');
  std::memcpy(bytes.data(), vector.data(), bytes.size());  // the test machine is little-endian
  return bytes;
}

TEST(TokenCommitmentTest, IsTheDocumentedHmac) {
  const Digest salt = FixedDigest("salt");
  const std::string message = Part("expunge token commitment v1") + Part("tenants/t/memories/m/tokens/x") +
                              Part("alice") + Part("bob") + Part(Raw({1.5, -2.0})) + Part(Raw({0.25}));
  Digest expected;
  unsigned int size = 0;
  HMAC(EVP_sha256(), salt.data(), static_cast<int>(salt.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(), expected.data(), &size);
  EXPECT_EQ(TokenCommitment(salt, "tenants/t/memories/m/tokens/x", {"bob", "alice"}, Vector{1.5, -2.0},
                            Vector{0.25}),
            expected);
}

TEST(TokenCommitmentTest, DoesNotDependOnTheOrderOfSubjects) {
  const Digest salt = FixedDigest("salt");
  const Digest commitment = TokenCommitment(salt, "n", {"a", "b", "c"}, Vector{1}, Vector{2});
  EXPECT_EQ(TokenCommitment(salt, "n", {"c", "a", "b"}, Vector{1}, Vector{2}), commitment);
}

TEST(TokenCommitmentTest, EveryPartAndEveryBoundaryBetweenPartsCounts) {
  const Digest salt = FixedDigest("salt");
  const Digest other_salt = FixedDigest("other salt");
  const std::vector<Digest> commitments = {
      TokenCommitment(salt, "name", {"ab", "c"}, Vector{1, 2}, Vector{3}),
      TokenCommitment(other_salt, "name", {"ab", "c"}, Vector{1, 2}, Vector{3}),
      TokenCommitment(salt, "nam", {"eab", "c"}, Vector{1, 2}, Vector{3}),
      TokenCommitment(salt, "named", {"ab", "c"}, Vector{1, 2}, Vector{3}),
      TokenCommitment(salt, "name", {"a", "bc"}, Vector{1, 2}, Vector{3}),
      TokenCommitment(salt, "name", {"abc"}, Vector{1, 2}, Vector{3}),
      TokenCommitment(salt, "name", {"ab"}, Vector{1, 2}, Vector{3}),
      TokenCommitment(salt, "name", {"ab", "c", ""}, Vector{1, 2}, Vector{3}),
      TokenCommitment(salt, "name", {}, Vector{1, 2}, Vector{3}),
      TokenCommitment(salt, "name", {"ab", "c"}, Vector{1}, Vector{2, 3}),
      TokenCommitment(salt, "name", {"ab", "c"}, Vector{2, 1}, Vector{3}),
      TokenCommitment(salt, "name", {"ab", "c"}, Vector{1, 2, 3}, Vector{}),
      TokenCommitment(salt, "name", {"ab", "c"}, Vector{1, 2}, Vector{3.0000000000000004}),
      // A subject whose bytes are those of a key: the count of parts tells them apart.
      TokenCommitment(salt, "name", {"ab", "c", Raw({1, 2})}, Vector{3}, Vector{}),
  };
  EXPECT_EQ(std::set<Digest>(commitments.begin(), commitments.end()).size(), commitments.size());
}

}  // namespace
}  // namespace expunge::certificate
