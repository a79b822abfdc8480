// Ed25519 keys (RFC 8032), by OpenSSL.
#ifndef EXPUNGE_CERTIFICATE_SIGNING_KEY_H_
#define EXPUNGE_CERTIFICATE_SIGNING_KEY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct evp_pkey_st;

namespace expunge::certificate {

// A public key. Copies share it. Threads: any number at once.
class PublicKey {
 public:
  // InvalidArgument unless `pem` is one SubjectPublicKeyInfo PEM of an Ed25519 key.
  [[nodiscard]] static absl::StatusOr<PublicKey> FromPem(absl::string_view pem);

  // InvalidArgument unless `raw` is the 32 bytes of RFC 8032.
  [[nodiscard]] static absl::StatusOr<PublicKey> FromRaw(absl::string_view raw);

  [[nodiscard]] std::string ToPem() const;
  // 32 bytes (RFC 8032).
  [[nodiscard]] std::string Raw() const;
  // Hex SHA-256 of the DER-encoded SubjectPublicKeyInfo.
  [[nodiscard]] std::string KeyId() const;
  // REQUIRES: nothing of `signature`; a wrong length is simply false.
  [[nodiscard]] bool Verify(absl::string_view message, absl::string_view signature) const;

 private:
  friend class SigningKey;
  explicit PublicKey(std::shared_ptr<struct evp_pkey_st> key) : key_(std::move(key)) {}
  std::shared_ptr<struct evp_pkey_st> key_;
};

// A private key. Threads: any number at once.
class SigningKey {
 public:
  [[nodiscard]] static SigningKey Generate();
  // InvalidArgument unless `pem` is one unencrypted PKCS#8 PEM of an Ed25519 key.
  [[nodiscard]] static absl::StatusOr<SigningKey> FromPem(absl::string_view pem);
  // Reads `path`; if there is none, generates a key and writes it there, mode 0600, synced, all or nothing.
  // Returns: PermissionDenied if others than the owner may read an existing file (the message says how to fix
  // it); InvalidArgument, NotFound, Unavailable for anything else that stands in the way.
  [[nodiscard]] static absl::StatusOr<SigningKey> LoadOrCreate(const std::string& path);
  // The same without making one. Returns: NotFound if there is none.
  [[nodiscard]] static absl::StatusOr<SigningKey> LoadExisting(const std::string& path);

  [[nodiscard]] PublicKey Public() const;
  // 64 bytes; the same for the same message.
  [[nodiscard]] std::string Sign(absl::string_view message) const;

 private:
  explicit SigningKey(std::shared_ptr<struct evp_pkey_st> key) : key_(std::move(key)) {}
  std::shared_ptr<struct evp_pkey_st> key_;
};

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_SIGNING_KEY_H_
