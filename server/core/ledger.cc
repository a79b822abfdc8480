#include "server/core/ledger.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "server/core/handles.h"
#include "server/core/records.h"
#include "storage/records.pb.h"

namespace expunge::core {
namespace {

using storage::LedgerEntry;
using storage::LedgerRecord;
using storage::Table;

absl::Status Unreadable() {
  return MakeError(Reason::kStorageCorrupt, "", "an entry of the deletion ledger is unreadable");
}

// A tenant's latest certificate in the copy.
struct Latest {
  uint64_t number = 0;
  Digest sealed_sha256{};
};

// How far the copy goes.
struct EndOfCopy {
  std::map<Digest, Latest> tenants;
  uint64_t leaves = 0;  // of the log
};

void NoteLatest(const LedgerEntry& entry, EndOfCopy* end) {
  for (const LedgerRecord& record : entry.records) {
    if (record.table == Table::kLog) end->leaves = LogIndex(record.key) + 1;
    if (record.table != Table::kCertificates) continue;
    end->tenants[entry.tenant] = {CertificateNumber(record.key), Sha256(record.value)};
  }
}

absl::Status Ahead() {
  return absl::FailedPreconditionError(
      "the copy of the deletion ledger reports what the database lacks: the database is an older copy, and "
      "would bring back what was deleted. Restore it with `expunged restore`; after a restore, or for "
      "another "
      "directory, begin a new file");
}

// The copy may lack the last changes, but must not report any that the database doesn't have.
absl::Status CheckNotAhead(const Context& context, const EndOfCopy& end) {
  if (end.leaves > context.log->size()) return Ahead();
  for (const auto& [tenant, last] : end.tenants) {
    const auto sealed =
        context.store->database().Get(Table::kCertificates, CertificateKey(tenant, last.number));
    if (absl::IsNotFound(sealed.status())) return Ahead();
    EXPUNGE_RETURN_IF_ERROR(sealed.status());
    if (Sha256(*sealed) != last.sealed_sha256) return Ahead();
  }
  return absl::OkStatus();
}

// A deletion as it is stored, and the requests that added what was deleted.
struct StoredErasure {
  LedgerRecord record;
  std::vector<std::string> requests;
};
// The deletions of one tenant, by each certificate that belongs to them.
using ErasuresByCertificate = std::map<uint64_t, std::shared_ptr<const StoredErasure>>;

absl::StatusOr<ErasuresByCertificate> ReadErasures(const storage::SealedStore& store,
                                                   const storage::Store& database, const Digest& tenant) {
  ErasuresByCertificate erasures;
  absl::Status outcome;
  const auto visit = [&](absl::string_view key, absl::string_view value) {
    const auto opened = store.OpenValue(Table::kErasures, key, value);
    storage::v1::ErasureRecord erasure;
    outcome = opened.status();
    if (outcome.ok() && !ParseRecord(*opened, &erasure)) outcome = Unreadable();
    const auto stored = std::make_shared<const StoredErasure>(
        StoredErasure{{Table::kErasures, std::string(key), std::string(value)},
                      {erasure.requests().begin(), erasure.requests().end()}});
    for (const uint64_t number : erasure.certificates()) erasures[number] = stored;
    return outcome.ok();
  };
  EXPUNGE_RETURN_IF_ERROR(database.Scan(Table::kErasures, AsView(tenant), "", visit));
  EXPUNGE_RETURN_IF_ERROR(outcome);
  return erasures;
}

// The certificate in `key` and `value`, with what belongs to it.
struct Part {
  LedgerEntry entry;
  std::string change;  // the same for all certificates of one; empty: it has no other
  uint64_t leaf = 0;
};

absl::StatusOr<Part> PartOf(const storage::SealedStore& store, const storage::Store& database,
                            const Digest& tenant, const ErasuresByCertificate& erasures,
                            absl::string_view key, absl::string_view value) {
  EXPUNGE_ASSIGN_OR_RETURN(const auto opened, store.OpenValue(Table::kCertificates, key, value));
  storage::v1::CertificateRecord certificate;
  if (!ParseRecord(opened, &certificate)) return Unreadable();
  Part part{
      {tenant, {{Table::kCertificates, std::string(key), std::string(value)}}}, "", certificate.log_index()};
  LedgerEntry& entry = part.entry;
  const uint64_t number = certificate.completes() > 0 ? certificate.completes() : CertificateNumber(key);
  const auto erasure = erasures.find(number);
  if (erasure != erasures.end()) {
    const StoredErasure& stored = *erasure->second;
    entry.records.push_back(stored.record);
    part.change = absl::StrCat(stored.record.key, certificate.completes() > 0 ? "completed" : "");
    if (certificate.completes() == 0) {
      for (const std::string& request : stored.requests) {
        entry.records.push_back(LostRequest(absl::StrCat(AsView(tenant), request)));
      }
    }
  }
  if (certificate.request().empty()) return part;
  std::string request = absl::StrCat(AsView(tenant), certificate.request());
  EXPUNGE_ASSIGN_OR_RETURN(std::string answer, database.Get(Table::kRequests, request));
  entry.records.push_back({Table::kRequests, std::move(request), std::move(answer)});
  return part;
}

// A stored value that is not sealed begins so.
const std::string& PublicName() {
  static const auto& name = *new std::string(2 * sizeof(storage::Slot), '\0');
  return name;
}

using EntriesByLeaf = std::map<uint64_t, LedgerEntry>;  // by the first

// Those of one tenant, from its certificate `first` on; and the leaves that they have.
absl::Status AddEntriesOf(const storage::SealedStore& store, const storage::Store& database,
                          const Digest& tenant, uint64_t first, EntriesByLeaf* entries,
                          std::set<uint64_t>* covered) {
  EXPUNGE_ASSIGN_OR_RETURN(const ErasuresByCertificate erasures, ReadErasures(store, database, tenant));
  std::string last_change;
  LedgerEntry* last = nullptr;
  absl::Status outcome;
  const auto visit = [&](absl::string_view key, absl::string_view value) {
    absl::StatusOr<Part> part = PartOf(store, database, tenant, erasures, key, value);
    outcome = part.status();
    if (!outcome.ok()) return false;
    const absl::StatusOr<std::string> leaf = database.Get(Table::kLog, LogKey(part->leaf));
    outcome = leaf.status();
    if (!outcome.ok()) return false;
    if (!part->change.empty() && part->change == last_change) {
      last->records.push_back(std::move(part->entry.records.front()));
    } else {
      last = &((*entries)[part->leaf] = std::move(part->entry));
    }
    last->records.push_back({Table::kLog, LogKey(part->leaf), *leaf});
    covered->insert(part->leaf);
    last_change = std::move(part->change);
    return true;
  };
  EXPUNGE_RETURN_IF_ERROR(
      database.Scan(Table::kCertificates, AsView(tenant), CertificateKey(tenant, first), visit));
  return outcome;
}

// The key sets, by their leaves.
absl::StatusOr<std::map<uint64_t, LedgerRecord>> ReadKeySets(const storage::SealedStore& store,
                                                             const storage::Store& database) {
  std::map<uint64_t, LedgerRecord> sets;
  absl::Status outcome;
  const auto visit = [&](absl::string_view key, absl::string_view value) {
    const absl::StatusOr<storage::OpenRecord> opened = store.OpenValue(Table::kMeta, key, value);
    storage::v1::KeySetRecord set;
    outcome = opened.status();
    if (outcome.ok() && !ParseRecord(*opened, &set)) outcome = Unreadable();
    if (outcome.ok()) sets[set.log_index()] = {Table::kMeta, std::string(key), std::string(value)};
    return outcome.ok();
  };
  EXPUNGE_RETURN_IF_ERROR(database.Scan(Table::kMeta, kKeySetPrefix, "", visit));
  EXPUNGE_RETURN_IF_ERROR(outcome);
  return sets;
}

}  // namespace

LedgerRecord LostRequest(std::string key) {
  storage::v1::RequestRecord record;
  record.set_lost(true);
  return {Table::kRequests, std::move(key), PublicName() + record.SerializeAsString()};
}

bool IsLostRequest(const LedgerRecord& record) {
  return record.table == Table::kRequests && record.value == LostRequest("").value;
}

absl::StatusOr<std::vector<LedgerEntry>> LedgerSince(const storage::SealedStore& store,
                                                     const storage::Store& database,
                                                     const LedgerPlace& place) {
  EntriesByLeaf entries;
  std::set<uint64_t> covered;
  for (const auto& [tenant, first] : place.next_certificates) {
    EXPUNGE_RETURN_IF_ERROR(AddEntriesOf(store, database, tenant, first, &entries, &covered));
  }
  EXPUNGE_ASSIGN_OR_RETURN(const auto key_sets, ReadKeySets(store, database));
  // What is of no tenant, or of none that is known.
  const auto visit = [&](absl::string_view key, absl::string_view value) {
    if (covered.contains(LogIndex(key))) return true;
    LedgerEntry& entry = entries[LogIndex(key)];
    entry = {Digest{}, {{Table::kLog, std::string(key), std::string(value)}}};
    const auto set = key_sets.find(LogIndex(key));
    if (set != key_sets.end()) entry.records.push_back(set->second);
    return true;
  };
  EXPUNGE_RETURN_IF_ERROR(database.Scan(Table::kLog, "", LogKey(place.next_leaf), visit));
  std::vector<LedgerEntry> ordered;
  ordered.reserve(entries.size());
  for (auto& [leaf, entry] : entries) ordered.push_back(std::move(entry));
  return ordered;
}

absl::Status OpenLedgerCopy(Context* context) {
  if (context->options.ledger_copy_file.empty()) return absl::OkStatus();
  EndOfCopy end;
  EXPUNGE_ASSIGN_OR_RETURN(
      auto copy, storage::LedgerCopy::Open(context->options.ledger_copy_file, LedgerOwner(context->secret),
                                           [&end](const LedgerEntry& entry) {
                                             NoteLatest(entry, &end);
                                             return true;
                                           }));
  EXPUNGE_RETURN_IF_ERROR(CheckNotAhead(*context, end));
  LedgerPlace place{{}, end.leaves};
  for (const Tenant* tenant : context->tenants.All()) {
    place.next_certificates[tenant->handle()] = end.tenants[tenant->handle()].number + 1;
  }
  EXPUNGE_ASSIGN_OR_RETURN(const std::vector<LedgerEntry> missing,
                           LedgerSince(*context->store, context->store->database(), place));
  for (const LedgerEntry& entry : missing) EXPUNGE_RETURN_IF_ERROR(copy->Append(entry));
  context->ledger_copy = std::move(copy);
  return absl::OkStatus();
}

}  // namespace expunge::core
