#include "certificate/signing_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/hash.h"
#include "tests/certificate/fixtures.h"

namespace expunge::certificate {
namespace {

using ::testing::HasSubstr;
using testing::PrivatePemOfSeed;
using testing::PublicPemOf;

struct Vector {
  const char* name;
  const char* seed;
  const char* public_key;
  const char* message;
  const char* signature;
};

// RFC 8032, section 7.1.
constexpr Vector kVectors[] = {
    {"TEST 1", "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
     "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
    {"TEST 2", "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
     "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
    {"TEST 3", "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
     "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"},
    {"TEST SHA(abc)", "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
     "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
     "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
     "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
     "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589"
     "09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704"},
};

TEST(SigningKeyTest, SignsAsInRfc8032) {
  for (const Vector& vector : kVectors) {
    SCOPED_TRACE(vector.name);
    const auto key = SigningKey::FromPem(PrivatePemOfSeed(vector.seed));
    ASSERT_TRUE(key.ok()) << key.status();
    EXPECT_EQ(ToHex(key->Sign(FromHex(vector.message).value())), vector.signature);
    EXPECT_EQ(key->Public().ToPem(), PublicPemOf(vector.public_key));
  }
}

TEST(PublicKeyTest, VerifiesAsInRfc8032AndNothingElse) {
  for (const Vector& vector : kVectors) {
    SCOPED_TRACE(vector.name);
    const auto key = PublicKey::FromPem(PublicPemOf(vector.public_key));
    ASSERT_TRUE(key.ok()) << key.status();
    const std::string message = FromHex(vector.message).value();
    const std::string signature = FromHex(vector.signature).value();
    EXPECT_TRUE(key->Verify(message, signature));
    EXPECT_FALSE(key->Verify(message + "x", signature));
    for (size_t bit = 0; bit < 8 * signature.size(); ++bit) {
      std::string damaged = signature;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      EXPECT_FALSE(key->Verify(message, damaged)) << bit;
    }
    for (size_t size = 0; size < signature.size(); ++size) {
      EXPECT_FALSE(key->Verify(message, signature.substr(0, size))) << size;
    }
    EXPECT_FALSE(key->Verify(message, signature + '\0'));
  }
}

TEST(PublicKeyTest, KeyIdIsTheHashOfTheSubjectPublicKeyInfo) {
  const std::string der = FromHex(absl::StrCat("302a300506032b6570032100", kVectors[0].public_key)).value();
  EXPECT_EQ(testing::TestKey().Public().KeyId(), ToHex(AsView(Sha256(der))));
}

TEST(PublicKeyTest, OutlivesItsSigningKey) {
  std::string signature;
  const PublicKey key = [&signature] {
    const SigningKey signing = SigningKey::Generate();
    signature = signing.Sign("message");
    return signing.Public();
  }();
  EXPECT_TRUE(key.Verify("message", signature));
}

TEST(SigningKeyTest, GeneratesADifferentKeyEachTime) {
  EXPECT_NE(SigningKey::Generate().Public().KeyId(), SigningKey::Generate().Public().KeyId());
}

using KeyHandle = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using BioHandle = std::unique_ptr<BIO, decltype(&BIO_free)>;

std::string Contents(const BioHandle& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

// Keys of other kinds, straight from OpenSSL.
std::string ForeignPem(const char* kind, bool is_private, const EVP_CIPHER* cipher) {
  const KeyHandle key(kind == std::string("EC") ? EVP_PKEY_Q_keygen(nullptr, nullptr, kind, "P-256")
                                                : EVP_PKEY_Q_keygen(nullptr, nullptr, kind),
                      &EVP_PKEY_free);
  const BioHandle bio(BIO_new(BIO_s_mem()), &BIO_free);
  unsigned char password[] = "password";
  const int written = is_private ? PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), cipher,
                                                                 reinterpret_cast<char*>(password),
                                                                 cipher == nullptr ? 0 : 8, nullptr, nullptr)
                                 : PEM_write_bio_PUBKEY(bio.get(), key.get());
  EXPECT_EQ(written, 1);
  return Contents(bio);
}

TEST(SigningKeyTest, RefusesEverythingButOneUnencryptedEd25519Key) {
  const std::string good = PrivatePemOfSeed(kVectors[0].seed);
  const std::pair<std::string, const char*> cases[] = {
      {"", "not a private key"},
      {"garbage", "not a private key"},
      {good.substr(0, good.size() / 2), "not a private key"},
      {PublicPemOf(kVectors[0].public_key), "not a private key"},
      {good + "garbage", "before or after"},
      {"garbage\n" + good, "before or after"},
      {good + good, "before or after"},
      {good + std::string(1, '\0'), "before or after"},
      {good + std::string(5000, ' '), "too long"},
      {ForeignPem("ED448", true, nullptr), "not an Ed25519 key"},
      {ForeignPem("EC", true, nullptr), "not an Ed25519 key"},
      {ForeignPem("ED25519", true, EVP_aes_256_cbc()), "encrypted"},
  };
  for (const auto& [pem, message] : cases) {
    const auto key = SigningKey::FromPem(pem);
    ASSERT_EQ(key.status().code(), absl::StatusCode::kInvalidArgument) << pem;
    EXPECT_THAT(std::string(key.status().message()), HasSubstr(message)) << pem;
  }
}

TEST(PublicKeyTest, RefusesEverythingButOneEd25519Key) {
  const std::string good = PublicPemOf(kVectors[0].public_key);
  const std::pair<std::string, const char*> cases[] = {
      {"", "not a public key"},
      {good.substr(0, good.size() / 2), "not a public key"},
      {PrivatePemOfSeed(kVectors[0].seed), "this is a private key"},
      {good + good, "before or after"},
      {"garbage\n" + good, "before or after"},
      {good + "garbage", "before or after"},
      {good + std::string(5000, '\n'), "too long"},
      {ForeignPem("ED448", false, nullptr), "not an Ed25519 key"},
      {ForeignPem("EC", false, nullptr), "not an Ed25519 key"},
  };
  for (const auto& [pem, message] : cases) {
    const auto key = PublicKey::FromPem(pem);
    ASSERT_EQ(key.status().code(), absl::StatusCode::kInvalidArgument) << pem;
    EXPECT_THAT(std::string(key.status().message()), HasSubstr(message)) << pem;
  }
}

TEST(PublicKeyTest, AcceptsOtherLineEnds) {
  const std::string good = PublicPemOf(kVectors[0].public_key);
  EXPECT_TRUE(PublicKey::FromPem(absl::StrReplaceAll(good, {{"\n", "\r\n"}})).ok());
  EXPECT_TRUE(PublicKey::FromPem(good.substr(0, good.size() - 1)).ok());
  EXPECT_TRUE(PublicKey::FromPem(good + "\n").ok());
}

}  // namespace
}  // namespace expunge::certificate
