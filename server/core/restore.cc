#include "server/core/restore.h"

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fault_point.h"
#include "base/status_macros.h"
#include "server/core/byte_eraser.h"
#include "server/core/certificates.h"
#include "server/core/context.h"
#include "server/core/handles.h"
#include "server/core/key_rotation.h"
#include "server/core/ledger.h"
#include "server/core/load.h"
#include "server/core/records.h"
#include "server/core/recovery.h"
#include "server/core/replay.h"
#include "storage/records.pb.h"

namespace expunge::core {
namespace {

using storage::Table;

// The latest certificate of each tenant in the backup, by the tenant's handle. The ledger must have it, too:
// one without it ends before the backup was made, or is another history's, and deletions since would be
// missed without a word.
using LatestInBackup = std::map<Digest, std::pair<uint64_t, storage::v1::CertificateRecord>>;

absl::StatusOr<LatestInBackup> ReadLatest(const Context& context) {
  LatestInBackup latest;
  for (Tenant* tenant : context.tenants.All()) {
    const std::lock_guard lock(tenant->writer());
    const uint64_t number = tenant->next_certificate() - 1;
    if (number == 0) continue;
    EXPUNGE_ASSIGN_OR_RETURN(auto record, LoadCertificateRecord(context, *tenant, number));
    latest[tenant->handle()] = {number, std::move(record)};
  }
  return latest;
}

absl::Status EndsBefore() {
  return absl::FailedPreconditionError(
      "the deletion ledger ends before the backup was made: what was deleted since is not in it; name the "
      "one "
      "written last");
}

absl::Status OtherHistory() {
  return absl::FailedPreconditionError(
      "the deletion ledger has another certificate than the backup under the same number: it is not of this "
      "history; name the one that the server wrote after this backup");
}

// `sealed`: what the ledger has in the place of `expected`.
absl::Status Compare(const Context& context, absl::string_view key, absl::string_view sealed,
                     const storage::v1::CertificateRecord& expected) {
  EXPUNGE_ASSIGN_OR_RETURN(const auto opened, context.store->OpenValue(Table::kCertificates, key, sealed));
  storage::v1::CertificateRecord record;
  const bool same = ParseRecord(opened, &record) && record.payload() == expected.payload();
  return same ? absl::OkStatus() : OtherHistory();
}

// Looks in an entry for what `latest` has of its tenant, and takes it out of there.
absl::Status FindLatest(const Context& context, const storage::LedgerEntry& entry, LatestInBackup* latest) {
  const auto expected = latest->find(entry.tenant);
  if (expected == latest->end()) return absl::OkStatus();
  const std::string key = CertificateKey(entry.tenant, expected->second.first);
  for (const storage::LedgerRecord& record : entry.records) {
    if (record.table != Table::kCertificates || record.key != key) continue;
    EXPUNGE_RETURN_IF_ERROR(Compare(context, key, record.value, expected->second.second));
    latest->erase(expected);
    break;
  }
  return absl::OkStatus();
}

absl::Status ReplayCopy(const Context& context, const std::string& file, RestoreReport* report) {
  EXPUNGE_ASSIGN_OR_RETURN(LatestInBackup latest, ReadLatest(context));
  absl::Status outcome;
  EXPUNGE_RETURN_IF_ERROR(
      storage::ReadLedgerCopy(file, LedgerOwner(context.secret), [&](const storage::LedgerEntry& entry) {
        outcome = FindLatest(context, entry, &latest);
        if (outcome.ok()) outcome = Replay(context, entry, report);
        return outcome.ok();
      }));
  EXPUNGE_RETURN_IF_ERROR(outcome);
  return latest.empty() ? absl::OkStatus() : EndsBefore();
}

absl::Status CheckSameStore(const Context& context, const storage::Store& database) {
  const auto sealed = database.Get(Table::kMeta, kSecretKey);
  if (!sealed.ok() && !absl::IsNotFound(sealed.status())) return sealed.status();
  if (sealed.ok()) {
    const auto opened = context.store->OpenValue(Table::kMeta, kSecretKey, *sealed);
    const auto secret = opened.ok() ? ReadSecret(*opened) : opened.status();
    if (secret.ok() && *secret == context.secret) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "the database that is to be replaced is not the one that the backup was made of");
}

absl::Status CheckReachesBackup(const Context& context, const storage::Store& database) {
  EXPUNGE_ASSIGN_OR_RETURN(const LatestInBackup latest, ReadLatest(context));
  for (const auto& [tenant, expected] : latest) {
    const std::string key = CertificateKey(tenant, expected.first);
    const auto sealed = database.Get(Table::kCertificates, key);
    if (absl::IsNotFound(sealed.status())) return EndsBefore();
    EXPUNGE_RETURN_IF_ERROR(sealed.status());
    EXPUNGE_RETURN_IF_ERROR(Compare(context, key, *sealed, expected.second));
  }
  return absl::OkStatus();
}

// Of a tenant that the backup doesn't know no record opens: no request of it is carried out again.
absl::Status RefuseRetriesOf(const storage::Store& database, const Context& context) {
  std::set<std::string> known;
  for (const Tenant* tenant : context.tenants.All()) known.insert(ToBytes(tenant->handle()));
  std::vector<storage::LedgerRecord> lost;
  EXPUNGE_RETURN_IF_ERROR(
      database.Scan(Table::kRequests, "", "", [&](absl::string_view key, absl::string_view) {
        if (known.count(std::string(key.substr(0, sizeof(Digest)))) == 0) {
          lost.push_back(LostRequest(std::string(key)));
        }
        return true;
      }));
  return TakeUpPublic(context, {Digest{}, std::move(lost)});
}

absl::Status ReplayDatabase(const Context& context, const std::string& directory, RestoreReport* report) {
  storage::StoreOptions options;
  options.create_if_missing = false;
  options.read_only = true;
  EXPUNGE_ASSIGN_OR_RETURN(const auto database, storage::Store::Open(directory, options));
  EXPUNGE_RETURN_IF_ERROR(CheckSameStore(context, *database));
  EXPUNGE_RETURN_IF_ERROR(CheckReachesBackup(context, *database));
  LedgerPlace place{{}, context.log->size()};
  for (Tenant* tenant : context.tenants.All()) {
    const std::lock_guard lock(tenant->writer());
    place.next_certificates[tenant->handle()] = tenant->next_certificate();
  }
  EXPUNGE_ASSIGN_OR_RETURN(const auto entries, LedgerSince(*context.store, *database, place));
  for (const storage::LedgerEntry& entry : entries) EXPUNGE_RETURN_IF_ERROR(Replay(context, entry, report));
  return RefuseRetriesOf(*database, context);
}

// The key sets are complete now, unless they were in a ledger that nobody has: then the present keys may be
// others than those of the newest set.
absl::Status SettleKeys(const Context& context, bool without_ledger) {
  if (without_ledger) EXPUNGE_RETURN_IF_ERROR(BeginKeysAnew(context));
  EXPUNGE_RETURN_IF_ERROR(context.keys->Load(*context.store));
  return PublishKeys(context);
}

void Say(const RestoreOptions& options, absl::string_view step) {
  if (options.on_step) options.on_step(step);
}

// Everything between the copy and the removal of its marker.
absl::Status CarryOut(const RestoreOptions& options, SigningKeys keys, const Clock& clock,
                      RestoreReport* report) {
  storage::SealedStoreOptions to = options.to;
  to.store.create_if_missing = false;
  to.store.finishing_restore = true;
  Say(options, "checking every memory as it was");
  EXPUNGE_ASSIGN_OR_RETURN(auto store, storage::SealedStore::Open(to));
  Context context(std::move(store), std::move(keys), clock, ServiceOptions());
  EXPUNGE_RETURN_IF_ERROR(Recover(&context, KeySets::kMayBeOld));
  Say(options, "carrying out again what was deleted since");
  if (!options.ledger_copy_file.empty()) {
    EXPUNGE_RETURN_IF_ERROR(ReplayCopy(context, options.ledger_copy_file, report));
  }
  if (!options.replaced_database.empty()) {
    EXPUNGE_RETURN_IF_ERROR(ReplayDatabase(context, options.replaced_database, report));
  }
  // What was signed since the backup is not known: the log must not go on as if it had not been.
  const bool without_ledger = options.ledger_copy_file.empty() && options.replaced_database.empty();
  if (without_ledger) EXPUNGE_RETURN_IF_ERROR(context.log->BeginAnew());
  EXPUNGE_RETURN_IF_ERROR(SettleKeys(context, without_ledger));
  EXPUNGE_RETURN_IF_ERROR(BeginEpochs(context));
  Say(options, "erasing its bytes from the restored files");
  // The files that were copied hold what has just been deleted; and what was pending when the backup was
  // made.
  CrashPoint("restore.renumbered");
  if (context.erasures->All().empty()) return context.store->database().EraseDeletedBytes();
  return ByteEraser(context).Erase();
}

}  // namespace

absl::StatusOr<RestoreReport> Restore(const RestoreOptions& options, SigningKeys keys, const Clock& clock) {
  RestoreReport report;
  Say(options, "verifying and copying the backup");
  EXPUNGE_ASSIGN_OR_RETURN(report.backup, storage::BeginRestore(options.backup, options.to));
  EXPUNGE_RETURN_IF_ERROR(CarryOut(options, std::move(keys), clock, &report));
  EXPUNGE_RETURN_IF_ERROR(storage::FinishRestore(options.to));
  return report;
}

}  // namespace expunge::core
