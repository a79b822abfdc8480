#include "storage/token_signer.h"

#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fault_point.h"
#include "base/status_macros.h"
#include "certificate/signer.h"
#include "storage/pkcs11_token.h"
#include "storage/token_pin.h"

namespace expunge::storage {
namespace {

using certificate::PublicKey;

// The one session of all keys. Threads: any number at once.
class SharedToken {
 public:
  SharedToken(std::string label, std::unique_ptr<Pkcs11Token> token)
      : label_(std::move(label)), token_(std::move(token)) {}

  template <typename Call>
  auto With(Call call) const {
    const std::lock_guard lock(mutex_);
    return call(*token_);
  }
  [[nodiscard]] const std::string& label() const { return label_; }

 private:
  const std::string label_;
  mutable std::mutex mutex_;
  const std::unique_ptr<Pkcs11Token> token_;
};

class TokenSigner : public certificate::Signer {
 public:
  TokenSigner(std::shared_ptr<const SharedToken> token, PublicKey key, TokenKey private_key)
      : Signer(std::move(key), kTokenCustody), token_(std::move(token)), private_key_(private_key) {}

 private:
  absl::StatusOr<std::string> MakeSignature(absl::string_view message) const override {
    return token_->With([&](const Pkcs11Token& token) { return token.Sign(private_key_, message); });
  }

  const std::shared_ptr<const SharedToken> token_;
  const TokenKey private_key_;
};

class TokenKeeper : public certificate::KeyKeeper {
 public:
  TokenKeeper(std::shared_ptr<const SharedToken> token, std::string label)
      : token_(std::move(token)), label_(std::move(label)), next_(label_ + certificate::kNextKeySuffix) {}

  absl::StatusOr<Key> Load() override { return Find(label_); }
  absl::StatusOr<Key> LoadNext() override { return Find(next_); }

  absl::StatusOr<Key> LoadOrCreate() override {
    absl::StatusOr<Key> found = Load();
    return absl::IsNotFound(found.status()) ? Make(label_) : found;
  }

  absl::StatusOr<Key> PrepareNext() override {
    EXPUNGE_RETURN_IF_ERROR(DropNext());
    absl::StatusOr<Key> made = Make(next_);
    CrashPoint("keys.next_made");
    return made;
  }

  absl::Status Promote() override {
    EXPUNGE_ASSIGN_OR_RETURN(const std::optional<Pkcs11Token::SigningPair> next, FindPair(next_));
    if (!next.has_value()) return Absent(next_);
    // A pair that is half renamed already keeps its public key.
    EXPUNGE_RETURN_IF_ERROR(
        token_->With([&](const Pkcs11Token& token) { return token.DestroySigningPairs(label_, next->id); }));
    CrashPoint("keys.old_overwritten");
    EXPUNGE_RETURN_IF_ERROR(
        token_->With([&](const Pkcs11Token& token) { return token.RelabelSigningPair(*next, label_); }));
    CrashPoint("keys.promoted");
    return absl::OkStatus();
  }

  absl::Status DropNext() override {
    return token_->With([&](const Pkcs11Token& token) { return token.DestroySigningPairs(next_, ""); });
  }

  [[nodiscard]] std::string place() const override {
    return absl::StrCat("the token ", token_->label(), ", under the label ", label_, ",");
  }

 private:
  [[nodiscard]] absl::Status Absent(const std::string& label) const {
    return absl::NotFoundError(
        absl::StrCat("the token ", token_->label(), " has no Ed25519 key labelled ", label));
  }

  [[nodiscard]] absl::StatusOr<std::optional<Pkcs11Token::SigningPair>> FindPair(
      const std::string& label) const {
    return token_->With([&](const Pkcs11Token& token) { return token.FindSigningPair(label); });
  }

  [[nodiscard]] absl::StatusOr<Key> ToKey(const Pkcs11Token::SigningPair& pair) const {
    EXPUNGE_ASSIGN_OR_RETURN(PublicKey key, PublicKey::FromRaw(pair.public_key));
    return std::make_shared<TokenSigner>(token_, std::move(key), pair.private_key);
  }

  [[nodiscard]] absl::StatusOr<Key> Find(const std::string& label) const {
    EXPUNGE_ASSIGN_OR_RETURN(const std::optional<Pkcs11Token::SigningPair> pair, FindPair(label));
    if (!pair.has_value()) return Absent(label);
    return ToKey(*pair);
  }

  [[nodiscard]] absl::StatusOr<Key> Make(const std::string& label) const {
    EXPUNGE_ASSIGN_OR_RETURN(const Pkcs11Token::SigningPair pair, token_->With([&](const Pkcs11Token& token) {
      return token.GenerateSigningPair(label);
    }));
    return ToKey(pair);
  }

  const std::shared_ptr<const SharedToken> token_;
  const std::string label_;
  const std::string next_;
};

}  // namespace

absl::StatusOr<TokenSigningKeys> SigningKeysOnToken(const TokenSigningOptions& options) {
  if (options.certificate_key == options.checkpoint_key) {
    return absl::InvalidArgumentError(
        "certificates and checkpoints need a key each: give them different labels");
  }
  EXPUNGE_ASSIGN_OR_RETURN(const SecretBytes pin, ReadTokenPin(options.pin_file));
  EXPUNGE_ASSIGN_OR_RETURN(auto token,
                           Pkcs11Token::Open(options.module, options.token, AsView(pin), /*writable=*/true));
  const auto shared = std::make_shared<const SharedToken>(options.token, std::move(token));
  return TokenSigningKeys{std::make_shared<TokenKeeper>(shared, options.certificate_key),
                          std::make_shared<TokenKeeper>(shared, options.checkpoint_key)};
}

}  // namespace expunge::storage
