#include "storage/seal.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "base/bytes.h"
#include "tests/storage/vault_support.h"

namespace expunge::storage {
namespace {

using test_support::Master;

std::string Text(const std::optional<SecretBytes>& bytes) {
  return bytes.has_value() ? std::string(AsView(*bytes)) : "nothing";
}

// draft-irtf-cfrg-xchacha-03, appendix A.3.1.
TEST(SealTest, OpensThePublishedExample) {
  const std::string associated = *FromHex("50515253c0c1c2c3c4c5c6c7");
  const std::string sealed = *FromHex(
      "404142434445464748494a4b4c4d4e4f5051525354555657"
      "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb"
      "731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452"
      "2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9"
      "21f9664c97637da9768812f615c68b13b52e"
      "c0875924c1c7987947deafd8780acf49");
  EXPECT_EQ(Text(Unseal(Master(0x80), associated, sealed)),
            "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
            "sunscreen would be it.");
}

TEST(SealTest, GivesBackWhatWasSealed) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{15}, size_t{16}, size_t{17}, size_t{63}, size_t{64},
                            size_t{65}, size_t{100'000}}) {
    const std::string text(size, 'x');
    const std::string sealed = Seal(Master(), "about", text);
    EXPECT_EQ(sealed.size(), size + kSealOverhead);
    EXPECT_EQ(Text(Unseal(Master(), "about", sealed)), text);
  }
}

TEST(SealTest, NoSealingIsLikeAnother) {
  std::set<std::string> nonces;
  std::set<std::string> ciphertexts;
  for (int i = 0; i < 1000; ++i) {
    const std::string sealed = Seal(Master(), "", "the same text");
    nonces.insert(sealed.substr(0, 24));
    ciphertexts.insert(sealed.substr(24));
    EXPECT_EQ(sealed.find("same"), std::string::npos);
  }
  EXPECT_EQ(nonces.size(), 1000U);
  EXPECT_EQ(ciphertexts.size(), 1000U);
}

TEST(SealTest, EveryFlippedBitIsFound) {
  const std::string sealed = Seal(Master(), "about", "thirteen long");
  for (size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    std::string damaged = sealed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(Unseal(Master(), "about", damaged).has_value()) << bit;
  }
}

TEST(SealTest, EveryOtherLengthIsFound) {
  const std::string sealed = Seal(Master(), "about", "thirteen long");
  for (size_t size = 0; size < sealed.size(); ++size)
    EXPECT_FALSE(Unseal(Master(), "about", sealed.substr(0, size)).has_value()) << size;
  EXPECT_FALSE(Unseal(Master(), "about", sealed + '\0').has_value());
  EXPECT_TRUE(Unseal(Master(), "about", sealed).has_value());
}

TEST(SealTest, AnotherKeyOrContextOpensNothing) {
  const std::string sealed = Seal(Master(), "about", "text");
  EXPECT_FALSE(Unseal(Master(1), "about", sealed).has_value());
  for (const char* other : {"", "abou", "about ", "About"})
    EXPECT_FALSE(Unseal(Master(), other, sealed).has_value()) << other;
}

}  // namespace
}  // namespace expunge::storage
