#include "base/hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

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

}  // namespace

Sha256Stream::Sha256Stream() : context_(EVP_MD_CTX_new()) {
  Require(context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1, "SHA-256");
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
  Digest digest;
  unsigned int length = 0;
  Require(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
               reinterpret_cast<const unsigned char*>(message.data()), message.size(), digest.data(),
               &length) != nullptr,
          "HMAC-SHA256");
  return digest;
}

Digest RandomDigest() {
  Digest digest;
  Require(RAND_bytes(digest.data(), static_cast<int>(digest.size())) == 1, "RAND_bytes");
  return digest;
}

}  // namespace expunge
