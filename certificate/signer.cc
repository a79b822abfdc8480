#include "certificate/signer.h"

#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"

namespace expunge::certificate {
namespace {

class KeySigner : public Signer {
 public:
  explicit KeySigner(SigningKey key)
      : Signer(key.Public(), std::string(kFileCustody.data(), kFileCustody.size())), key_(std::move(key)) {}

 private:
  absl::StatusOr<std::string> MakeSignature(absl::string_view message) const override {
    return key_.Sign(message);
  }

  const SigningKey key_;
};

}  // namespace

Signer::Signer(PublicKey key, std::string custody)
    : public_(std::move(key)), key_id_(public_.KeyId()), custody_(std::move(custody)) {}

absl::StatusOr<std::string> Signer::Sign(absl::string_view message) const {
  if (retired()) return absl::FailedPreconditionError("the signing key is retired: it signs nothing more");
  EXPUNGE_ASSIGN_OR_RETURN(std::string signature, MakeSignature(message));
  if (public_.Verify(message, signature)) return signature;
  return absl::InternalError("a signature was made that does not verify under its own key");
}

std::shared_ptr<const Signer> SignerOf(SigningKey key) { return std::make_shared<KeySigner>(std::move(key)); }

}  // namespace expunge::certificate
