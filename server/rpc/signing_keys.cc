#include "server/rpc/signing_keys.h"

#include <utility>

#include "base/status_macros.h"
#include "certificate/signing_key.h"

namespace expunge::rpc {
namespace {

core::SigningKeys Signers(certificate::SigningKey certificate, certificate::SigningKey checkpoint) {
  return {certificate::SignerOf(std::move(certificate)), certificate::SignerOf(std::move(checkpoint))};
}

}  // namespace

std::string CertificateKeyFile(const ServerOptions& options) {
  return options.key_file.empty() ? options.data_dir + "/signing_key.pem" : options.key_file;
}

std::string CheckpointKeyFile(const ServerOptions& options) {
  return options.checkpoint_key_file.empty() ? options.data_dir + "/checkpoint_key.pem"
                                             : options.checkpoint_key_file;
}

absl::StatusOr<core::SigningKeys> LoadOrCreateKeys(const ServerOptions& options) {
  EXPUNGE_ASSIGN_OR_RETURN(auto certificate,
                           certificate::SigningKey::LoadOrCreate(CertificateKeyFile(options)));
  EXPUNGE_ASSIGN_OR_RETURN(auto checkpoint,
                           certificate::SigningKey::LoadOrCreate(CheckpointKeyFile(options)));
  return Signers(std::move(certificate), std::move(checkpoint));
}

absl::StatusOr<core::SigningKeys> LoadExistingKeys(const ServerOptions& options) {
  EXPUNGE_ASSIGN_OR_RETURN(auto certificate,
                           certificate::SigningKey::LoadExisting(CertificateKeyFile(options)));
  EXPUNGE_ASSIGN_OR_RETURN(auto checkpoint,
                           certificate::SigningKey::LoadExisting(CheckpointKeyFile(options)));
  return Signers(std::move(certificate), std::move(checkpoint));
}

}  // namespace expunge::rpc
