#include "server/rpc/signing_keys.h"

#include <string>

#include "base/status_macros.h"
#include "certificate/key_keeper.h"
#include "storage/token_signer.h"

namespace expunge::rpc {
namespace {

std::string Or(const std::string& given, const std::string& otherwise) {
  return given.empty() ? otherwise : given;
}

core::SigningKeys InFiles(const ServerOptions& options) {
  return {certificate::KeyInFile(Or(options.key_file, options.data_dir + "/signing_key.pem")),
          certificate::KeyInFile(Or(options.checkpoint_key_file, options.data_dir + "/checkpoint_key.pem"))};
}

}  // namespace

absl::StatusOr<core::SigningKeys> SigningKeysFor(const ServerOptions& options) {
  const SigningTokenOptions& token = options.signing_token;
  if (token.module.empty()) {
    if (token.label.empty() && token.pin_file.empty()) return InFiles(options);
    return absl::InvalidArgumentError(
        "--signing-key-token and --signing-key-pin-file are of no use without --signing-key-module");
  }
  if (token.label.empty() || token.pin_file.empty() || token.certificate_key.empty() ||
      token.checkpoint_key.empty()) {
    return absl::InvalidArgumentError(
        "--signing-key-module needs --signing-key-token, --signing-key-pin-file and the labels of both keys");
  }
  if (!options.key_file.empty() || !options.checkpoint_key_file.empty()) {
    return absl::InvalidArgumentError(
        "the keys lie in a token (--signing-key-module): --key-file and --checkpoint-key-file are of no use");
  }
  EXPUNGE_ASSIGN_OR_RETURN(storage::TokenSigningKeys keys,
                           storage::SigningKeysOnToken({token.module, token.label, token.pin_file,
                                                        token.certificate_key, token.checkpoint_key}));
  return core::SigningKeys{keys.certificate, keys.checkpoint};
}

}  // namespace expunge::rpc
