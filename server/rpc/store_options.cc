#include "server/rpc/store_options.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/token_master_key.h"

namespace expunge::rpc {

absl::StatusOr<storage::SealedStoreOptions> StoreOptionsFor(const ServerOptions& options) {
  storage::SealedStoreOptions made;
  made.directory = options.data_dir + "/db";
  made.vault_directory = options.vault_dir;
  made.master_key_file = options.master_key_file;
  made.store.reserve_bytes = options.reserve_bytes;
  const TokenOptions& token = options.master_key_token;
  if (token.module.empty()) {
    if (token.label.empty() && token.pin_file.empty()) return made;
    return absl::InvalidArgumentError(
        "--master-key-token and --master-key-pin-file are of no use without --master-key-module");
  }
  if (token.label.empty() || token.key.empty() || token.pin_file.empty()) {
    return absl::InvalidArgumentError(
        "--master-key-module needs --master-key-token, --master-key-label and --master-key-pin-file");
  }
  storage::TokenMasterKeyOptions master;
  master.module = token.module;
  master.token = token.label;
  master.key = token.key;
  master.pin_file = token.pin_file;
  master.sealed_file = options.master_key_file.empty()
                           ? absl::StrCat(options.data_dir, "/master.key", storage::kSealedMasterKeySuffix)
                           : options.master_key_file;
  made.master_key = storage::MasterKeyOnToken(std::move(master));
  return made;
}

}  // namespace expunge::rpc
