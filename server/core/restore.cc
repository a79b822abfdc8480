#include "server/core/restore.h"

#include <utility>
#include <vector>

#include "base/fault_point.h"
#include "base/status_macros.h"
#include "server/core/byte_eraser.h"
#include "server/core/context.h"
#include "server/core/handles.h"
#include "server/core/ledger.h"
#include "server/core/recovery.h"
#include "server/core/replay.h"

namespace expunge::core {
namespace {

absl::Status ReplayCopy(const Context& context, const std::string& file, RestoreReport* report) {
  absl::Status outcome;
  EXPUNGE_RETURN_IF_ERROR(
      storage::ReadLedgerCopy(file, LedgerOwner(context.secret), [&](const storage::LedgerEntry& entry) {
        outcome = Replay(context, entry, report);
        return outcome.ok();
      }));
  return outcome;
}

absl::Status ReplayDatabase(const Context& context, const std::string& directory, RestoreReport* report) {
  storage::StoreOptions options;
  options.create_if_missing = false;
  options.read_only = true;
  EXPUNGE_ASSIGN_OR_RETURN(const auto database, storage::Store::Open(directory, options));
  for (Tenant* tenant : context.tenants.All()) {
    EXPUNGE_ASSIGN_OR_RETURN(
        const std::vector<storage::LedgerEntry> entries,
        LedgerSince(*context.store, *database, tenant->handle(), tenant->next_certificate()));
    for (const storage::LedgerEntry& entry : entries) {
      EXPUNGE_RETURN_IF_ERROR(Replay(context, entry, report));
    }
  }
  return absl::OkStatus();
}

void Say(const RestoreOptions& options, absl::string_view step) {
  if (options.on_step) options.on_step(step);
}

// Everything between the copy and the removal of its marker.
absl::Status CarryOut(const RestoreOptions& options, certificate::SigningKey key, const Clock& clock,
                      RestoreReport* report) {
  storage::SealedStoreOptions to = options.to;
  to.store.create_if_missing = false;
  to.store.finishing_restore = true;
  Say(options, "checking every memory as it was");
  EXPUNGE_ASSIGN_OR_RETURN(auto store, storage::SealedStore::Open(to));
  Context context(std::move(store), std::move(key), clock, ServiceOptions());
  EXPUNGE_RETURN_IF_ERROR(Recover(&context));
  Say(options, "carrying out again what was deleted since");
  if (!options.ledger_copy_file.empty()) {
    EXPUNGE_RETURN_IF_ERROR(ReplayCopy(context, options.ledger_copy_file, report));
  }
  if (!options.replaced_database.empty()) {
    EXPUNGE_RETURN_IF_ERROR(ReplayDatabase(context, options.replaced_database, report));
  }
  EXPUNGE_RETURN_IF_ERROR(BeginEpochs(context));
  Say(options, "erasing its bytes from the restored files");
  // The files that were copied hold what has just been deleted; and what was pending when the backup was
  // made.
  CrashPoint("restore.renumbered");
  if (context.erasures->All().empty()) return context.store->database().EraseDeletedBytes();
  return ByteEraser(context).Erase();
}

}  // namespace

absl::StatusOr<RestoreReport> Restore(const RestoreOptions& options, certificate::SigningKey key,
                                      const Clock& clock) {
  RestoreReport report;
  Say(options, "verifying and copying the backup");
  EXPUNGE_ASSIGN_OR_RETURN(report.backup, storage::BeginRestore(options.backup, options.to));
  EXPUNGE_RETURN_IF_ERROR(CarryOut(options, std::move(key), clock, &report));
  EXPUNGE_RETURN_IF_ERROR(storage::FinishRestore(options.to));
  return report;
}

}  // namespace expunge::core
