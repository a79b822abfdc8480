// Something that signs with one Ed25519 key, wherever that is kept: in this process, or in a token that never
// gives it out.
//
// A signature that is stored stays for ever, so Sign checks what it made: a fault in a token, or in memory,
// ends in an error and not in a certificate that nobody can verify.
#ifndef EXPUNGE_CERTIFICATE_SIGNER_H_
#define EXPUNGE_CERTIFICATE_SIGNER_H_

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "certificate/signing_key.h"

namespace expunge::certificate {

// Threads: any number at once.
class Signer {
 public:
  // `custody`: what a key set says of it, such as "a file": printable ASCII, no full stop.
  Signer(PublicKey key, std::string custody);
  virtual ~Signer() = default;
  Signer(const Signer&) = delete;
  Signer& operator=(const Signer&) = delete;

  [[nodiscard]] const PublicKey& Public() const { return public_; }
  [[nodiscard]] const std::string& KeyId() const { return key_id_; }
  [[nodiscard]] const std::string& custody() const { return custody_; }

  // 64 bytes; the same for the same message. Cost: one signature and one check of it.
  // Returns: FailedPrecondition after Retire; Internal if the signature does not verify; what the keeper of
  // the key says (Unavailable).
  [[nodiscard]] absl::StatusOr<std::string> Sign(absl::string_view message) const;

  // Nothing is signed any more, by whoever holds this. A call of Sign that runs at the same time may still
  // succeed.
  void Retire() const { retired_.store(true); }
  [[nodiscard]] bool retired() const { return retired_.load(); }

 private:
  [[nodiscard]] virtual absl::StatusOr<std::string> MakeSignature(absl::string_view message) const = 0;

  const PublicKey public_;
  const std::string key_id_;
  const std::string custody_;
  mutable std::atomic<bool> retired_ = false;
};

// What key sets say of a key that lies in a file.
inline constexpr absl::string_view kFileCustody = "a file";

// Signs with a key that this process holds.
[[nodiscard]] std::shared_ptr<const Signer> SignerOf(SigningKey key);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_SIGNER_H_
