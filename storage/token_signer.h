// Signing keys in a PKCS#11 token: made there, used there, and never given out.
//
// The keys lie under labels; a next key (certificate/key_keeper.h) lies under the label with kNextKeySuffix.
// Promote destroys the old key in the token, and gives the next its label.
#ifndef EXPUNGE_STORAGE_TOKEN_SIGNER_H_
#define EXPUNGE_STORAGE_TOKEN_SIGNER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "certificate/key_keeper.h"

namespace expunge::storage {

// What key sets say of such a key.
inline constexpr char kTokenCustody[] =
    "a PKCS#11 token, which holds the private key and does not give it out";

struct TokenSigningOptions {
  std::string module;    // the PKCS#11 library; a name without a folder: where p11-kit looks for modules
  std::string token;     // label of the token
  std::string pin_file;  // private as a master key is; a line feed at the end doesn't belong to the PIN
  // Labels of the Ed25519 keys in it.
  std::string certificate_key;
  std::string checkpoint_key;
};

struct TokenSigningKeys {
  std::shared_ptr<certificate::KeyKeeper> certificate;
  std::shared_ptr<certificate::KeyKeeper> checkpoint;
};

// Logs in, once, for both. Returns: as Pkcs11Token::Open; as ReadPrivateFile; InvalidArgument if the labels
// are the same or the file holds no PIN. What the keepers return is as of KeyKeeper, and FailedPrecondition
// as Pkcs11Token::FindSigningPair.
[[nodiscard]] absl::StatusOr<TokenSigningKeys> SigningKeysOnToken(const TokenSigningOptions& options);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_TOKEN_SIGNER_H_
