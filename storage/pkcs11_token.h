// One token of a PKCS#11 module, logged in: what is needed to keep a key there, and to seal or sign with it.
//
// The module is loaded and initialised through p11-kit, which lets several parts of a process use the same
// one. The log-in is tried once, never again: a token locks itself after a few wrong PINs.
#ifndef EXPUNGE_STORAGE_PKCS11_TOKEN_H_
#define EXPUNGE_STORAGE_PKCS11_TOKEN_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/secret.h"

namespace expunge::storage {

// Handle of a key object, as PKCS#11 has it; it lasts as long as the session.
using TokenKey = unsigned long;  // NOLINT(google-runtime-int)

// Errors, unless said otherwise: Unavailable (kStorageFailed), with the module's own words.
// Threads: one call at a time; any number of objects.
class Pkcs11Token {
 public:
  // `module`: path of the shared library. `label`: of the token, without the blanks that fill it up.
  // `writable`: the session may make keys.
  // Returns: NotFound if the module cannot be loaded, or has no initialised token of this label;
  // FailedPrecondition if it has two, or the PIN is locked, expired, not set, or has one try left, with which
  // a wrong one would lock it; PermissionDenied if the PIN is wrong.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Pkcs11Token>> Open(const std::string& module,
                                                                         const std::string& label,
                                                                         absl::string_view pin,
                                                                         bool writable);
  // Logs out, and unloads the module unless others in this process use it.
  ~Pkcs11Token();
  Pkcs11Token(const Pkcs11Token&) = delete;
  Pkcs11Token& operator=(const Pkcs11Token&) = delete;

  // The AES key of this label; nullopt if there is none. Returns: FailedPrecondition if there are two, or the
  // token would give the key out (not CKA_SENSITIVE, or CKA_EXTRACTABLE), or it hasn't 256 bits.
  [[nodiscard]] absl::StatusOr<std::optional<TokenKey>> FindKey(const std::string& label) const;
  // Makes an AES key of 256 bits that stays in the token and never leaves it. REQUIRES: `writable`.
  [[nodiscard]] absl::StatusOr<TokenKey> GenerateKey(const std::string& label) const;

  // AES-GCM with a tag of 128 bits, which follows the ciphertext. `*iv`, of 12 bytes, is a proposal: a module
  // that insists on its own puts that there.
  [[nodiscard]] absl::StatusOr<std::string> Encrypt(TokenKey key, absl::string_view associated,
                                                    absl::string_view plaintext, std::string* iv) const;
  // nullopt if the token says that these bytes were not sealed under this key. (PKCS#11 has no one error for
  // it: what isn't plainly a failure of token, session or arguments is taken for it.)
  [[nodiscard]] absl::StatusOr<std::optional<SecretBytes>> Decrypt(TokenKey key, absl::string_view associated,
                                                                   absl::string_view iv,
                                                                   absl::string_view sealed) const;

  // An Ed25519 key pair, made and used in the token (PKCS#11 v3: CKM_EDDSA).
  struct SigningPair {
    TokenKey private_key = 0;
    std::string public_key;  // 32 bytes
    std::string id;          // CKA_ID, which binds the two halves
  };
  // The pair of this label; nullopt if there is no private key of it. Returns: FailedPrecondition if there
  // are two, or the token would give the private key out, or has not its public half.
  [[nodiscard]] absl::StatusOr<std::optional<SigningPair>> FindSigningPair(const std::string& label) const;
  // Makes a pair whose private key never leaves the token. REQUIRES: `writable`.
  [[nodiscard]] absl::StatusOr<SigningPair> GenerateSigningPair(const std::string& label) const;
  // Destroys the pairs of this label, but for that with the id `but`. REQUIRES: `writable`.
  [[nodiscard]] absl::Status DestroySigningPairs(const std::string& label, absl::string_view but) const;
  // Gives the pair another label. REQUIRES: `writable`. After an error it can be found under the old label,
  // or under the new one, and this can be called again.
  [[nodiscard]] absl::Status RelabelSigningPair(const SigningPair& pair, const std::string& label) const;
  // 64 bytes. Whether they verify is not looked at.
  [[nodiscard]] absl::StatusOr<std::string> Sign(TokenKey private_key, absl::string_view message) const;

 private:
  struct Impl;
  explicit Pkcs11Token(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_PKCS11_TOKEN_H_
