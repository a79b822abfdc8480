#include "server/rpc/restore_command.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "server/core/restore.h"
#include "server/rpc/signing_keys.h"
#include "server/rpc/store_options.h"

namespace expunge::rpc {
namespace {

using nlohmann::ordered_json;

absl::Status CheckSources(const ServerOptions& server, const RestoreCommandOptions& options) {
  if (options.from_database.empty() || options.from_vault.empty()) {
    return absl::InvalidArgumentError("name both halves of the backup: --from-database and --from-vault");
  }
  const int sources = static_cast<int>(!server.ledger_copy_file.empty()) +
                      static_cast<int>(!options.replaced_data_dir.empty()) +
                      static_cast<int>(options.without_ledger);
  if (sources == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "say where the deletions since the backup are found, with one of --ledger-copy FILE, "
      "--replaced-data-dir DIR, or --without-ledger, which brings back what was deleted since");
}

// Before anything is copied. A rotation that was cut off is finished later.
absl::Status CheckKeysAreThere(const core::SigningKeys& keys) {
  for (certificate::KeyKeeper* const keeper : {keys.certificate.get(), keys.checkpoint.get()}) {
    absl::Status active = keeper->Load().status();
    if (!active.ok() && !keeper->LoadNext().ok()) return active;
  }
  return absl::OkStatus();
}

absl::StatusOr<core::RestoreReport> Restore(const ServerOptions& server, const RestoreCommandOptions& options,
                                            std::ostream& err) {
  EXPUNGE_RETURN_IF_ERROR(CheckSources(server, options));
  core::RestoreOptions restore;
  restore.backup = {options.from_database, options.from_vault};
  EXPUNGE_ASSIGN_OR_RETURN(restore.to, StoreOptionsFor(server));
  restore.ledger_copy_file = server.ledger_copy_file;
  if (!options.replaced_data_dir.empty()) restore.replaced_database = options.replaced_data_dir + "/db";
  restore.on_step = [&err](absl::string_view step) { err << "expunged: " << step << std::endl; };
  EXPUNGE_ASSIGN_OR_RETURN(auto keys, SigningKeysFor(server));
  EXPUNGE_RETURN_IF_ERROR(CheckKeysAreThere(keys));
  return core::Restore(restore, std::move(keys), SystemClock());
}

void PrintJson(const core::RestoreReport& report, std::ostream& out) {
  ordered_json json;
  json["backup_id"] = report.backup.id;
  json["backup_time"] = absl::FormatTime(absl::RFC3339_full, report.backup.created, absl::UTCTimeZone());
  json["files"] = report.backup.files;
  json["bytes"] = report.backup.bytes;
  json["certificates"] = report.certificates;
  json["deletions"] = report.deletions;
  json["deleted_tokens"] = report.deleted_tokens;
  json["skipped_entries"] = report.skipped_entries;
  out << json.dump(2) << "\n";
}

void PrintText(const core::RestoreReport& report, const ServerOptions& server,
               const RestoreCommandOptions& options, std::ostream& out) {
  out << "restored the backup of "
      << absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", report.backup.created, absl::UTCTimeZone()) << ", "
      << report.backup.files << " files, " << report.backup.bytes << " bytes\n";
  if (options.without_ledger) {
    out << "what was deleted since then is back: delete it again\n";
  } else {
    out << "carried out again: " << report.deletions << " deletions, of " << report.deleted_tokens
        << " tokens that the backup held; " << report.certificates << " certificates are in their places\n";
  }
  if (report.skipped_entries > 0) {
    out << "passed over: " << report.skipped_entries << " entries of tenants that the backup does not know\n";
  }
  out << "What was added since is lost. Next: `expunged fsck`, then start the server.\n";
  if (!server.ledger_copy_file.empty()) {
    out << "Start it with a new file for --ledger-copy, which gets all that the old one has of this data: "
           "restore with the new one from then on.\n";
  }
}

}  // namespace

int RunRestore(const ServerOptions& server, const RestoreCommandOptions& options, std::ostream& out,
               std::ostream& err) {
  const absl::StatusOr<core::RestoreReport> report = Restore(server, options, err);
  if (!report.ok()) {
    err << "expunged: cannot restore: " << report.status().message() << std::endl;
    return absl::IsInvalidArgument(report.status()) ? 2 : EXIT_FAILURE;
  }
  if (options.json) {
    PrintJson(*report, out);
  } else {
    PrintText(*report, server, options, out);
  }
  out.flush();
  return EXIT_SUCCESS;
}

}  // namespace expunge::rpc
