#include "certificate/signing_key.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "certificate/private_pem.h"

namespace expunge::certificate {
namespace {

constexpr size_t kSignatureBytes = 64;
constexpr size_t kPublicBytes = 32;
constexpr size_t kMaxPemBytes = 4096;  // an Ed25519 PEM has less than 200

// Failures here mean that memory or the entropy source is gone: nothing safe is left to do.
void Require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "fatal: OpenSSL failed in %s\n", what);
  std::abort();
}

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using MdContext = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

Bio ReadBio(absl::string_view bytes) {
  Bio bio(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())), &BIO_free);
  Require(bio != nullptr, "BIO_new_mem_buf");
  return bio;
}

// Memory that OpenSSL wipes when it frees it.
Bio SecretBio() {
  Bio bio(BIO_new(BIO_s_secmem()), &BIO_free);
  Require(bio != nullptr, "BIO_new");
  return bio;
}

std::string Contents(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

std::string PublicPem(EVP_PKEY* key) {
  const Bio bio = SecretBio();
  Require(PEM_write_bio_PUBKEY(bio.get(), key) == 1, "PEM_write_bio_PUBKEY");
  return Contents(bio.get());
}

// Line ends and outer white space are all that may differ between a PEM and its one encoding.
bool SamePem(absl::string_view given, absl::string_view encoded) {
  std::string text = absl::StrReplaceAll(given, {{"\r\n", "\n"}});
  const bool same = absl::StripAsciiWhitespace(text) == absl::StripAsciiWhitespace(encoded);
  OPENSSL_cleanse(text.data(), text.size());
  return same;
}

// Without it, OpenSSL would ask for a password on the terminal.
int RefusePassword(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*context*/) { return -1; }

std::shared_ptr<EVP_PKEY> Share(EVP_PKEY* key) { return {key, &EVP_PKEY_free}; }

}  // namespace

std::string PrivatePem(evp_pkey_st* key) {
  const Bio bio = SecretBio();
  Require(PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
          "PEM_write_bio_PKCS8PrivateKey");
  return Contents(bio.get());
}

absl::StatusOr<PublicKey> PublicKey::FromPem(absl::string_view pem) {
  if (pem.size() > kMaxPemBytes) return absl::InvalidArgumentError("too long for the PEM of one public key");
  if (absl::StrContains(pem, "PRIVATE KEY")) {
    return absl::InvalidArgumentError(
        "this is a private key; a public key (-----BEGIN PUBLIC KEY-----) is needed. "
        "`openssl pkey -in <private> -pubout` prints it");
  }
  const Bio bio = ReadBio(pem);
  auto key = Share(PEM_read_bio_PUBKEY(bio.get(), nullptr, &RefusePassword, nullptr));
  if (key == nullptr)
    return absl::InvalidArgumentError("not a public key in PEM (-----BEGIN PUBLIC KEY-----)");
  if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519) {
    return absl::InvalidArgumentError("not an Ed25519 key");
  }
  if (!SamePem(pem, PublicPem(key.get()))) {
    return absl::InvalidArgumentError("something stands before or after the one public key");
  }
  return PublicKey(std::move(key));
}

absl::StatusOr<PublicKey> PublicKey::FromRaw(absl::string_view raw) {
  if (raw.size() != kPublicBytes) {
    return absl::InvalidArgumentError("the public key of Ed25519 has 32 bytes");
  }
  auto key = Share(EVP_PKEY_new_raw_public_key(
      EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(raw.data()), raw.size()));
  Require(key != nullptr, "EVP_PKEY_new_raw_public_key");
  return PublicKey(std::move(key));
}

std::string PublicKey::Raw() const {
  std::string raw(kPublicBytes, '\0');
  size_t size = raw.size();
  Require(EVP_PKEY_get_raw_public_key(key_.get(), reinterpret_cast<unsigned char*>(raw.data()), &size) == 1 &&
              size == raw.size(),
          "EVP_PKEY_get_raw_public_key");
  return raw;
}

std::string PublicKey::ToPem() const { return PublicPem(key_.get()); }

std::string PublicKey::KeyId() const {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key_.get(), &der);
  Require(size > 0, "i2d_PUBKEY");
  const Digest digest = Sha256({reinterpret_cast<const char*>(der), static_cast<size_t>(size)});
  OPENSSL_free(der);
  return ToHex(AsView(digest));
}

bool PublicKey::Verify(absl::string_view message, absl::string_view signature) const {
  if (signature.size() != kSignatureBytes) return false;
  const MdContext context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (context == nullptr) return false;
  if (EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1) return false;
  return EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                          signature.size(), reinterpret_cast<const unsigned char*>(message.data()),
                          message.size()) == 1;
}

SigningKey SigningKey::Generate() {
  auto key = Share(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  Require(key != nullptr, "EVP_PKEY_Q_keygen");
  return SigningKey(std::move(key));
}

absl::StatusOr<SigningKey> SigningKey::FromPem(absl::string_view pem) {
  if (pem.size() > kMaxPemBytes) return absl::InvalidArgumentError("too long for the PEM of one private key");
  if (absl::StrContains(pem, "ENCRYPTED")) {
    return absl::InvalidArgumentError("the private key is encrypted; an unencrypted one is needed");
  }
  const Bio bio = ReadBio(pem);
  auto key = Share(PEM_read_bio_PrivateKey(bio.get(), nullptr, &RefusePassword, nullptr));
  if (key == nullptr) {
    return absl::InvalidArgumentError("not a private key in PKCS#8 PEM (-----BEGIN PRIVATE KEY-----)");
  }
  if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519) {
    return absl::InvalidArgumentError("not an Ed25519 key");
  }
  std::string encoded = PrivatePem(key.get());
  const bool same = SamePem(pem, encoded);
  OPENSSL_cleanse(encoded.data(), encoded.size());
  if (!same) return absl::InvalidArgumentError("something stands before or after the one private key");
  return SigningKey(std::move(key));
}

PublicKey SigningKey::Public() const {
  // Only the public half, so that no copy of a PublicKey keeps the private one alive.
  return *PublicKey::FromRaw(PublicKey(key_).Raw());
}

std::string SigningKey::Sign(absl::string_view message) const {
  const MdContext context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::string signature(kSignatureBytes, '\0');
  size_t size = signature.size();
  Require(context != nullptr &&
              EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
              EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                             reinterpret_cast<const unsigned char*>(message.data()), message.size()) == 1 &&
              size == kSignatureBytes,
          "Ed25519 signing");
  return signature;
}

}  // namespace expunge::certificate
