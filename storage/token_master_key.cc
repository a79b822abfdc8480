#include "storage/token_master_key.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "storage/pkcs11_token.h"
#include "storage/private_file.h"
#include "storage/sealed_master_key.h"
#include "storage/token_pin.h"

namespace expunge::storage {
namespace {

constexpr size_t kIvBytes = 12;
constexpr int kAttempts = 3;

std::optional<SecretKey> ToKey(const std::optional<SecretBytes>& bytes) {
  if (!bytes.has_value() || bytes->size() != SecretKey::kBytes) return std::nullopt;
  SecretKey key;
  std::copy(bytes->begin(), bytes->end(), key.data());
  return key;
}

class TokenProvider : public MasterKeyProvider {
 public:
  explicit TokenProvider(TokenMasterKeyOptions options) : options_(std::move(options)) {}

  absl::StatusOr<SecretKey> Load(bool may_create) override {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const absl::StatusOr<SecretBytes> file =
          ReadPrivateFile("the sealed master key", options_.sealed_file, kSealedMasterKeyBytes);
      if (file.ok()) return Unseal(AsView(*file));
      if (!absl::IsNotFound(file.status())) return file.status();
      if (!may_create) {
        return absl::NotFoundError(
            absl::StrCat("the sealed master key ", options_.sealed_file,
                         " is missing: without it the data cannot be read; put it back"));
      }
      absl::StatusOr<SecretKey> made = Make();
      if (!absl::IsAlreadyExists(made.status())) return made;  // else another process was faster
    }
    return SystemError(ELOOP, "read or make", options_.sealed_file);
  }

  [[nodiscard]] std::string custody() const override {
    return "a master key in a file, sealed under a key that a PKCS#11 token holds and does not give out, and "
           "unsealed into the service's memory at its start";
  }

 private:
  [[nodiscard]] absl::StatusOr<std::unique_ptr<Pkcs11Token>> Open(bool writable) const {
    EXPUNGE_ASSIGN_OR_RETURN(const SecretBytes pin, ReadTokenPin(options_.pin_file));
    return Pkcs11Token::Open(options_.module, options_.token, AsView(pin), writable);
  }

  [[nodiscard]] absl::StatusOr<SecretKey> Unseal(absl::string_view file) const {
    // A damaged file is told before the token is asked for anything.
    EXPUNGE_ASSIGN_OR_RETURN(const SealedMasterKey sealed, DecodeSealedMasterKey(file, options_.sealed_file));
    EXPUNGE_ASSIGN_OR_RETURN(const auto token, Open(/*writable=*/false));
    EXPUNGE_ASSIGN_OR_RETURN(const std::optional<TokenKey> key, token->FindKey(options_.key));
    if (!key.has_value()) {
      return absl::NotFoundError(
          absl::StrCat("the token ", options_.token, " has no AES key labelled ", options_.key,
                       ", and without it the sealed master key ", options_.sealed_file,
                       " cannot be opened: use the token that sealed it; nothing was changed"));
    }
    EXPUNGE_ASSIGN_OR_RETURN(const std::optional<SecretBytes> opened,
                             token->Decrypt(*key, SealedMasterKeyContext(), sealed.iv, sealed.sealed));
    std::optional<SecretKey> master = ToKey(opened);
    if (master.has_value()) return *std::move(master);
    return absl::FailedPreconditionError(
        absl::StrCat("the key ", options_.key, " of the token ", options_.token,
                     " did not seal the master key ", options_.sealed_file,
                     ": it is another token's, or another key under the same label; nothing was changed"));
  }

  [[nodiscard]] absl::StatusOr<SecretKey> Make() const {
    EXPUNGE_ASSIGN_OR_RETURN(const auto token, Open(/*writable=*/true));
    EXPUNGE_ASSIGN_OR_RETURN(std::optional<TokenKey> key, token->FindKey(options_.key));
    if (!key.has_value()) {
      EXPUNGE_ASSIGN_OR_RETURN(key, token->GenerateKey(options_.key));
    }
    SecretKey master = SecretKey::Random();
    SealedMasterKey sealed;
    sealed.iv = std::string(AsView(RandomDigest()).substr(0, kIvBytes));
    EXPUNGE_ASSIGN_OR_RETURN(sealed.sealed,
                             token->Encrypt(*key, SealedMasterKeyContext(), master.view(), &sealed.iv));
    EXPUNGE_ASSIGN_OR_RETURN(const std::optional<SecretBytes> opened,
                             token->Decrypt(*key, SealedMasterKeyContext(), sealed.iv, sealed.sealed));
    const std::optional<SecretKey> again = ToKey(opened);
    if (!again.has_value() || again->view() != master.view()) {
      return MakeError(Reason::kStorageFailed, "",
                       "the PKCS#11 token does not open what it has just sealed: its AES-GCM cannot be used");
    }
    EXPUNGE_RETURN_IF_ERROR(CreateDurably(options_.sealed_file, EncodeSealedMasterKey(sealed)));
    return master;
  }

  const TokenMasterKeyOptions options_;
};

}  // namespace

std::unique_ptr<MasterKeyProvider> MasterKeyOnToken(TokenMasterKeyOptions options) {
  return std::make_unique<TokenProvider>(std::move(options));
}

}  // namespace expunge::storage
