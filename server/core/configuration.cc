#include "server/core/configuration.h"

#include "absl/strings/str_cat.h"
#include "base/hash.h"

namespace expunge::core {

std::string ConfigurationText(const ServiceOptions& options, absl::string_view master_key) {
  return absl::StrCat("backups_kept_for_s=", options.backups_kept_for.count(),
                      "\nerase_bytes_within_ms=", options.erase_bytes_within.count(),
                      "\nledger_copy=", options.ledger_copy_file.empty() ? "no" : "yes",
                      "\nmaster_key=", master_key,
                      "\nmax_memories_per_tenant=", options.max_memories_per_tenant,
                      "\nmax_tokens_per_memory=", options.max_tokens_per_memory,
                      "\nrecover=", options.recover_by_solving ? "solve" : "hash", "\n");
}

std::string ConfigurationText(const Context& context) {
  return ConfigurationText(context.options, context.store->options().master_key->custody());
}

Digest ConfigurationSha256(const Context& context) { return Sha256(ConfigurationText(context)); }

}  // namespace expunge::core
