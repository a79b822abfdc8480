// SHA-256, HMAC-SHA256 and random bytes, all by OpenSSL.
#ifndef EXPUNGE_BASE_HASH_H_
#define EXPUNGE_BASE_HASH_H_

#include "absl/strings/string_view.h"
#include "base/bytes.h"

struct evp_md_ctx_st;

namespace expunge {

// Incremental SHA-256. Cost: one pass. Threads: one at a time.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(const Sha256Stream&) = delete;
  Sha256Stream& operator=(const Sha256Stream&) = delete;

  void Update(absl::string_view bytes);
  // REQUIRES: called once, last.
  [[nodiscard]] Digest Finish();

 private:
  struct evp_md_ctx_st* context_;
};

[[nodiscard]] Digest Sha256(absl::string_view bytes);

// HMAC-SHA256 (RFC 2104) of `message` under `key`, of any length.
[[nodiscard]] Digest HmacSha256(absl::string_view key, absl::string_view message);

// 32 bytes from the operating system's generator.
[[nodiscard]] Digest RandomDigest();

}  // namespace expunge

#endif  // EXPUNGE_BASE_HASH_H_
