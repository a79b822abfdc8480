#include "server/core/replay.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/fault_point.h"
#include "base/status_macros.h"
#include "expunge/v1/unlearning_service.pb.h"
#include "server/core/certificates.h"
#include "server/core/change.h"
#include "server/core/handles.h"
#include "server/core/ledger.h"
#include "server/core/records.h"
#include "server/core/step.h"
#include "storage/records.pb.h"

namespace expunge::core {
namespace {

using storage::LedgerRecord;
using storage::Table;

// An entry in the clear.
struct Reported {
  std::map<uint64_t, storage::v1::CertificateRecord> certificates;
  std::map<uint64_t, storage::v1::ErasureRecord> erasures;
  std::map<std::string, storage::v1::RequestRecord> answers;  // by the request's handle
};

absl::Status Contradiction() {
  return MakeError(
      Reason::kStorageCorrupt, "",
      "the deletion ledger and the log of certificates contradict each other: it is damaged, or not of "
      "this history");
}

// The leaves of an entry that the log lacks. Those that it has must be the same.
absl::StatusOr<std::map<uint64_t, std::string>> NewLeaves(const Context& context,
                                                          const storage::LedgerEntry& entry) {
  std::map<uint64_t, std::string> leaves;
  for (const LedgerRecord& record : entry.records) {
    if (record.table != Table::kLog) continue;
    EXPUNGE_ASSIGN_OR_RETURN(const auto opened,
                             context.store->OpenValue(record.table, record.key, record.value));
    const std::string leaf(AsView(opened.bytes));
    const uint64_t index = LogIndex(record.key);
    if (index >= context.log->size()) {
      leaves[index] = leaf;
      continue;
    }
    EXPUNGE_ASSIGN_OR_RETURN(const std::string present, context.log->Leaf(index));
    if (present != leaf) return Contradiction();
  }
  if (leaves.empty() || leaves.begin()->first == context.log->size()) return leaves;
  return absl::FailedPreconditionError(absl::StrCat(
      "the deletion ledger goes on with leaf ", leaves.begin()->first, " of the log, but leaf ",
      context.log->size(),
      " is not known: deletions in between are missing; find a ledger that reaches back to the backup, "
      "or a newer backup"));
}

// That the certificates have the leaves that were reported with them.
absl::Status CheckLeaves(const Reported& reported, const std::map<uint64_t, std::string>& leaves) {
  if (leaves.size() != reported.certificates.size()) return Contradiction();
  for (const auto& [number, record] : reported.certificates) {
    const auto found = leaves.find(record.log_index());
    const absl::StatusOr<std::string> leaf = LeafOf(record);
    if (!leaf.ok() || found == leaves.end() || found->second != *leaf) return Contradiction();
  }
  return absl::OkStatus();
}

absl::Status OpenRecord(const storage::SealedStore& store, const LedgerRecord& record,
                        google::protobuf::MessageLite* message) {
  EXPUNGE_ASSIGN_OR_RETURN(const auto opened, store.OpenValue(record.table, record.key, record.value));
  if (ParseRecord(opened, message)) return absl::OkStatus();
  return MakeError(Reason::kStorageCorrupt, "", "a record of the deletion ledger is unreadable");
}

absl::StatusOr<Reported> OpenEntry(const storage::SealedStore& store, const storage::LedgerEntry& entry) {
  Reported reported;
  for (const LedgerRecord& record : entry.records) {
    if (IsLostRequest(record)) continue;  // the erasure names it
    absl::Status opened;
    if (record.table == Table::kCertificates) {
      opened = OpenRecord(store, record, &reported.certificates[CertificateNumber(record.key)]);
    } else if (record.table == Table::kErasures) {
      opened = OpenRecord(store, record, &reported.erasures[CertificateNumber(record.key)]);
    } else if (record.table == Table::kRequests) {
      opened = OpenRecord(store, record, &reported.answers[record.key.substr(sizeof(Digest))]);
    }
    EXPUNGE_RETURN_IF_ERROR(opened);
  }
  return reported;
}

Tenant* FindTenant(const Context& context, const Digest& handle) {
  for (Tenant* tenant : context.tenants.All()) {
    if (tenant->handle() == handle) return tenant;
  }
  return nullptr;
}

// The places in `memory` of the tokens that the ledger names.
std::vector<size_t> PlacesOf(const MemoryView& memory, const std::set<std::string>& token_keys) {
  std::vector<size_t> places;
  size_t place = 0;
  for (const auto& held : memory.tokens()) {
    if (token_keys.count(TokenKey(memory.identity().pseudonym, held->handle)) > 0) places.push_back(place);
    ++place;
  }
  return places;
}

// The memories, by their pseudonyms, from whose reserve the certificates say that tokens were dropped.
std::set<std::string> MemoriesOfSelections(const Reported& reported) {
  std::set<std::string> memories;
  for (const auto& [number, record] : reported.certificates) {
    if (record.kind() == v1::CERTIFICATE_KIND_SELECTION) memories.insert(record.memory_pseudonym());
  }
  return memories;
}

// With the scope of the retained set: the memory's certificates say it already.
Snapshot Retained(const Snapshot& view) {
  MemoryContent content = view->content();
  content.scope = certificate::Scope::kRetainedSet;
  return std::make_shared<const MemoryView>(view->shared_identity(), view->epoch(), std::move(content),
                                            view.get());
}

// Takes out of every memory of the tenant what the erasure names. `selected`: MemoriesOfSelections.
absl::Status Erase(const Context& context, const Tenant& tenant, const storage::v1::ErasureRecord& erasure,
                   const std::set<std::string>& selected, Change* change, RestoreReport* report) {
  if (Mutated("restore.replay")) return absl::OkStatus();
  const std::set<std::string> tokens(erasure.tokens().begin(), erasure.tokens().end());
  const std::set<std::string> memories(erasure.memories().begin(), erasure.memories().end());
  for (const Snapshot& memory : tenant.All()) {
    if (memories.count(ToBytes(memory->identity().pseudonym)) > 0) {
      report->deleted_tokens += memory->tokens().size();
      change->Remove(memory);
      continue;
    }
    const bool dropped = selected.count(ToBytes(memory->identity().pseudonym)) > 0;
    const std::vector<size_t> places = PlacesOf(*memory, tokens);
    if (places.empty()) {
      if (dropped) change->Renumber(Retained(memory));
      continue;
    }
    report->deleted_tokens += places.size();
    EXPUNGE_ASSIGN_OR_RETURN(Step step, StepByRemoving(context, memory, places));
    if (dropped) step.after = Retained(step.after);
    change->Put(std::move(step));
  }
  return absl::OkStatus();
}

// A retry of an Add that the backup doesn't know must not bring back what it brought.
absl::Status RefuseRetries(const Context& context, const Tenant& tenant,
                           const storage::v1::ErasureRecord& erasure, Change* change) {
  for (const std::string& request : erasure.requests()) {
    absl::Status known = context.store->database()
                             .Get(Table::kRequests, absl::StrCat(AsView(tenant.handle()), request))
                             .status();
    if (known.ok()) continue;
    if (!absl::IsNotFound(known)) return known;
    storage::v1::RequestRecord lost;
    lost.set_lost(true);
    change->PutAnswer(request, std::move(lost));
  }
  return absl::OkStatus();
}

absl::Status CheckNext(const Tenant& tenant, uint64_t first) {
  if (first == tenant.next_certificate()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the deletion ledger goes on with certificate ", first, " of a tenant, but certificate ",
                   tenant.next_certificate(),
                   " is not known: deletions in between are missing; find a ledger that reaches back to the "
                   "backup, or a newer backup"));
}

}  // namespace

absl::Status TakeUpPublic(const Context& context, const storage::LedgerEntry& entry) {
  TransparencyLog::Turn turn(*context.log);
  EXPUNGE_ASSIGN_OR_RETURN(auto leaves, NewLeaves(context, entry));
  for (auto& [index, leaf] : leaves) turn.Add(std::move(leaf));
  storage::Transaction transaction;
  EXPUNGE_RETURN_IF_ERROR(turn.Put(&transaction));
  for (const LedgerRecord& record : entry.records) {
    const bool key_set = record.table == Table::kMeta && absl::StartsWith(record.key, kKeySetPrefix);
    if (key_set || IsLostRequest(record)) transaction.Put(record.table, record.key, record.value);
  }
  bool durable = false;
  absl::Status status = context.store->Commit(std::move(transaction), {}, &durable);
  if (durable) turn.Keep();
  return status;
}

absl::Status Replay(const Context& context, const storage::LedgerEntry& entry, RestoreReport* report) {
  Tenant* const tenant = FindTenant(context, entry.tenant);
  if (tenant == nullptr) {
    if (entry.tenant != Digest{}) ++report->skipped_entries;
    return TakeUpPublic(context, entry);
  }
  const std::lock_guard lock(tenant->writer());
  EXPUNGE_ASSIGN_OR_RETURN(Reported reported, OpenEntry(*context.store, entry));
  if (reported.certificates.empty()) return absl::OkStatus();
  EXPUNGE_ASSIGN_OR_RETURN(const auto leaves, NewLeaves(context, entry));
  if (reported.certificates.rbegin()->first < tenant->next_certificate()) {
    return leaves.empty() ? absl::OkStatus() : Contradiction();
  }
  EXPUNGE_RETURN_IF_ERROR(CheckNext(*tenant, reported.certificates.begin()->first));
  EXPUNGE_RETURN_IF_ERROR(CheckLeaves(reported, leaves));

  Change change(context, *tenant, RequestIdentity{}, context.clock());
  for (auto& [first, erasure] : reported.erasures) {
    if (first >= tenant->next_certificate()) {
      EXPUNGE_RETURN_IF_ERROR(
          Erase(context, *tenant, erasure, MemoriesOfSelections(reported), &change, report));
      EXPUNGE_RETURN_IF_ERROR(RefuseRetries(context, *tenant, erasure, &change));
      ++report->deletions;
    }
    change.PutErasure(first, std::move(erasure));
  }
  for (auto& [request, answer] : reported.answers) change.PutAnswer(request, std::move(answer));
  report->certificates += reported.certificates.size();
  for (auto& [number, record] : reported.certificates) change.Reissue(number, std::move(record));
  EXPUNGE_RETURN_IF_ERROR(change.Commit(v1::DeleteResponse()));
  CrashPoint("restore.replayed");
  return absl::OkStatus();
}

absl::Status BeginEpochs(const Context& context) {
  // Not the range after the backup's alone: a backup that is restored twice would give its numbers twice.
  const auto minutes = static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixSeconds(context.clock()) / 60));
  for (Tenant* tenant : context.tenants.All()) {
    const std::lock_guard lock(tenant->writer());
    Change change(context, *tenant, RequestIdentity{}, context.clock());
    for (const Snapshot& memory : tenant->All()) {
      const uint64_t epoch = std::max((memory->epoch() >> 32) + 1, minutes) << 32;
      change.Renumber(std::make_shared<const MemoryView>(memory->shared_identity(), epoch, memory->content(),
                                                         memory.get()));
    }
    EXPUNGE_RETURN_IF_ERROR(change.Commit(v1::DeleteResponse()));
  }
  return absl::OkStatus();
}

}  // namespace expunge::core
