#include "base/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace expunge {
namespace {

// OpenSSL's digests and generator fail only when memory or the entropy source is gone: nothing safe is left
// to do.
void Require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "fatal: OpenSSL failed in %s\n", what);
  std::abort();
}

// Fetched once: OpenSSL 3 looks EVP_sha256() up anew for every digest, which takes longer than to hash a few
// dozen bytes.
const EVP_MD* Method() {
  static const EVP_MD* const method = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  Require(method != nullptr, "SHA-256");
  return method;
}

constexpr size_t kBlockBytes = 64;

// SHA-256 of (padded key XOR pad) | message.
Digest KeyedPass(const std::array<uint8_t, kBlockBytes>& key, uint8_t pad, absl::string_view message) {
  std::array<uint8_t, kBlockBytes> block = key;
  for (uint8_t& byte : block) byte ^= pad;
  Sha256Stream stream;
  stream.Update({reinterpret_cast<const char*>(block.data()), block.size()});
  stream.Update(message);
  OPENSSL_cleanse(block.data(), block.size());
  return stream.Finish();
}

}  // namespace

Sha256Stream::Sha256Stream() : context_(EVP_MD_CTX_new()) {
  Require(context_ != nullptr && EVP_DigestInit_ex(context_, Method(), nullptr) == 1, "SHA-256");
}

Sha256Stream::~Sha256Stream() { EVP_MD_CTX_free(context_); }

void Sha256Stream::Update(absl::string_view bytes) {
  Require(EVP_DigestUpdate(context_, bytes.data(), bytes.size()) == 1, "SHA-256");
}

Digest Sha256Stream::Finish() {
  Digest digest;
  Require(EVP_DigestFinal_ex(context_, digest.data(), nullptr) == 1, "SHA-256");
  return digest;
}

Digest Sha256(absl::string_view bytes) {
  Sha256Stream stream;
  stream.Update(bytes);
  return stream.Finish();
}

Digest HmacSha256(absl::string_view key, absl::string_view message) {
  // RFC 2104. OpenSSL's own one-shot function takes four times as long for a short message.
  std::array<uint8_t, kBlockBytes> padded{};
  const Digest hashed = key.size() > kBlockBytes ? Sha256(key) : Digest{};
  const absl::string_view short_key = key.size() > kBlockBytes ? AsView(hashed) : key;
  std::copy(short_key.begin(), short_key.end(), padded.begin());
  const Digest inner = KeyedPass(padded, 0x36, message);
  const Digest outer = KeyedPass(padded, 0x5c, AsView(inner));
  OPENSSL_cleanse(padded.data(), padded.size());
  return outer;
}

Digest RandomDigest() {
  Digest digest;
  Require(RAND_bytes(digest.data(), static_cast<int>(digest.size())) == 1, "RAND_bytes");
  return digest;
}

}  // namespace expunge
