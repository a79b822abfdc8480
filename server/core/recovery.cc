#include "server/core/recovery.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/fault_point.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "certificate/key_chain.h"
#include "server/core/certificates.h"
#include "server/core/handles.h"
#include "server/core/key_rotation.h"
#include "server/core/ledger.h"
#include "server/core/load.h"
#include "server/core/memory.h"
#include "server/core/records.h"
#include "storage/records.pb.h"

namespace expunge::core {
namespace {

using storage::Table;

absl::Status Corrupt(absl::string_view message) { return MakeError(Reason::kStorageCorrupt, "", message); }

absl::Status CorruptMemory(absl::string_view pseudonym, absl::string_view message) {
  return Corrupt(absl::StrCat("memory ", ToHex(pseudonym), ": ", message,
                              "; restore a backup, or remove the data directory to start anew"));
}

// Every record under `prefix`, by its key without it.
using Records = std::map<std::string, storage::OpenRecord>;
absl::StatusOr<Records> ReadAll(const storage::SealedStore& store, Table table, absl::string_view prefix) {
  Records records;
  EXPUNGE_RETURN_IF_ERROR(
      store.Scan(table, prefix, "", [&records, prefix](absl::string_view key, storage::OpenRecord record) {
        records.emplace(std::string(key.substr(prefix.size())), std::move(record));
        return true;
      }));
  return records;
}

absl::Status LoadSecret(Context* context, LiveKeys* live) {
  const absl::StatusOr<storage::OpenRecord> opened = context->store->Get(Table::kMeta, kSecretKey);
  storage::v1::SecretRecord record;
  if (absl::IsNotFound(opened.status())) {
    context->secret = RandomDigest();
    record.set_key(ToBytes(context->secret));
    EXPUNGE_ASSIGN_OR_RETURN(const auto slots, context->store->vault().Take(storage::kMasterSlot, 1));
    EXPUNGE_RETURN_IF_ERROR(live->Add({storage::kMasterSlot, slots.front()}, storage::kMasterSlot));
    storage::Transaction transaction;
    EXPUNGE_RETURN_IF_ERROR(context->store->Put(Table::kMeta, kSecretKey,
                                                {storage::kMasterSlot, slots.front()}, record, &transaction));
    bool durable = false;
    return context->store->Commit(std::move(transaction), {}, &durable);
  }
  EXPUNGE_RETURN_IF_ERROR(opened.status());
  const absl::StatusOr<Digest> secret = ReadSecret(*opened);
  if (!secret.ok() || !live->Add(opened->key, storage::kMasterSlot).ok()) {
    return Corrupt("the store's secret is unreadable");
  }
  context->secret = *secret;
  return absl::OkStatus();
}

// What the certificates of one tenant say as a whole.
struct CertificateList {
  Tenant* tenant = nullptr;
  uint64_t count = 0;
  std::map<std::string, Digest> last_payloads;  // SHA-256, by the memory's pseudonym
};
using CertificateLists = std::map<std::string, CertificateList>;  // by the tenant's handle

// Makes the tenants; their lists are still empty.
absl::StatusOr<CertificateLists> LoadTenants(Context* context, LiveKeys* live) {
  EXPUNGE_ASSIGN_OR_RETURN(const Records tenants, ReadAll(*context->store, Table::kMeta, kTenantPrefix));
  CertificateLists lists;
  for (const auto& [handle, opened] : tenants) {
    const auto record = ReadTenant(context->secret, handle, opened);
    if (!record.ok()) return Corrupt(std::string(record.status().message()));
    if (!live->Add(opened.key, storage::kMasterSlot).ok()) {
      return Corrupt("a tenant's record is unreadable");
    }
    Tenant& tenant = context->tenants.FindOrAdd(record->name(), *DigestFromBytes(handle));
    const std::lock_guard lock(tenant.writer());
    tenant.set_next_certificate(record->next_certificate());
    tenant.set_key_slot(opened.key.slot);
    lists[handle].tenant = &tenant;
  }
  return lists;
}

absl::StatusOr<HeldTokens> LoadTokens(const Context& context, const MemoryIdentity& memory,
                                      storage::Slot tenant_key, LiveKeys* live) {
  HeldTokens tokens;
  absl::Status outcome;
  const auto visit = [&](absl::string_view key, const storage::OpenRecord& opened) {
    absl::StatusOr<std::shared_ptr<const HeldToken>> held =
        ReadToken(memory, key.substr(sizeof(Digest)), opened);
    outcome = held.ok() ? live->Add(opened.key, tenant_key) : held.status();
    if (outcome.ok()) tokens.push_back(*std::move(held));
    return outcome.ok();
  };
  EXPUNGE_RETURN_IF_ERROR(context.store->Scan(Table::kTokens, AsView(memory.pseudonym), "", visit));
  EXPUNGE_RETURN_IF_ERROR(outcome);
  SortTokens(&tokens);
  return tokens;
}

// `key`: that of the memory's own record.
absl::StatusOr<Snapshot> LoadView(const Context& context, const std::shared_ptr<const MemoryIdentity>& memory,
                                  storage::KeyName key, LiveKeys* live) {
  EXPUNGE_ASSIGN_OR_RETURN(const HeldTokens tokens, LoadTokens(context, *memory, key.parent, live));
  const absl::StatusOr<storage::OpenRecord> opened =
      context.store->Get(Table::kStates, AsView(memory->pseudonym));
  if (absl::IsNotFound(opened.status())) return absl::InvalidArgumentError("its state is missing");
  EXPUNGE_RETURN_IF_ERROR(opened.status());
  EXPUNGE_ASSIGN_OR_RETURN(Snapshot view, ReadState(memory, key, *opened, tokens));
  if (context.options.recover_by_solving) EXPUNGE_RETURN_IF_ERROR(CheckBySolving(*view));
  return view;
}

absl::Status LoadMemory(Context* context, absl::string_view pseudonym, const storage::OpenRecord& opened,
                        LiveKeys* live) {
  EXPUNGE_ASSIGN_OR_RETURN(const DecodedMemory decoded, ReadMemory(pseudonym, opened));
  const MemoryIdentity& identity = *decoded.identity;
  Tenant* tenant = context->tenants.Find(identity.tenant);
  if (tenant == nullptr) return absl::InvalidArgumentError("it belongs to no tenant");
  const std::lock_guard lock(tenant->writer());
  EXPUNGE_RETURN_IF_ERROR(live->Add(opened.key, tenant->key_slot()));
  EXPUNGE_ASSIGN_OR_RETURN(const Snapshot view, LoadView(*context, decoded.identity, opened.key, live));
  if (tenant->Find(identity.memory) != nullptr) {
    return absl::InvalidArgumentError("another memory has its name");
  }
  tenant->chains()[identity.memory] = decoded.chain;
  tenant->memory_keys()[identity.memory] = opened.key.slot;
  tenant->Publish({{identity.memory, view}});
  return absl::OkStatus();
}

// Takes up the next record of the table. Numbers begin at 1 and have no gap.
absl::Status CountCertificate(const Context& context, absl::string_view key,
                              const storage::OpenRecord& opened, CertificateLists* lists) {
  const auto list = lists->find(std::string(key.substr(0, sizeof(Digest))));
  if (list == lists->end()) return Corrupt("a certificate belongs to no tenant");
  CertificateList& certificates = list->second;
  if (key != CertificateKey(certificates.tenant->handle(), certificates.count + 1)) {
    return Corrupt("a certificate is missing");
  }
  ++certificates.count;
  storage::v1::CertificateRecord record;
  if (!ParseRecord(opened, &record)) return Corrupt("a certificate's record is unreadable");
  const absl::StatusOr<std::string> leaf = LeafOf(record);
  const absl::StatusOr<std::string> logged = record.log_index() < context.log->size()
                                                 ? context.log->Leaf(record.log_index())
                                                 : absl::NotFoundError("");
  if (!leaf.ok() || !logged.ok() || *leaf != *logged) {
    return Corrupt("a certificate is not in the log in its place");
  }
  const absl::Time issued = absl::FromUnixNanos(record.create_time_unix_nanos());
  if (context.keys->Check(record.key_id(), issued, record.log_index()) != certificate::KeyWindowReason::kOk) {
    return Corrupt("a certificate is of a key that was not in use");
  }
  context.keys->Saw(issued);
  certificates.last_payloads[record.memory_pseudonym()] = Sha256(record.payload());
  return absl::OkStatus();
}

// The tenant counts its certificates, and each memory remembers the hash of its latest.
absl::Status CheckChains(const CertificateList& certificates) {
  Tenant& tenant = *certificates.tenant;
  const std::lock_guard lock(tenant.writer());
  if (tenant.next_certificate() != certificates.count + 1) return Corrupt("a certificate is missing");
  for (const auto& [memory, chain] : tenant.chains()) {
    const std::string pseudonym = ToBytes(tenant.Find(memory)->identity().pseudonym);
    const auto last = certificates.last_payloads.find(pseudonym);
    const bool none = last == certificates.last_payloads.end();
    if ((chain.next_sequence == 1) == none && chain.last_payload_sha256 == (none ? Digest{} : last->second)) {
      continue;
    }
    return CorruptMemory(pseudonym, "its latest certificate is not the one that it remembers");
  }
  tenant.Release();
  return absl::OkStatus();
}

absl::Status CheckCertificates(const Context& context, CertificateLists lists) {
  absl::Status outcome;
  EXPUNGE_RETURN_IF_ERROR(context.store->Scan(Table::kCertificates, "", "",
                                              [&](absl::string_view key, const storage::OpenRecord& opened) {
                                                outcome = CountCertificate(context, key, opened, &lists);
                                                return outcome.ok();
                                              }));
  EXPUNGE_RETURN_IF_ERROR(outcome);
  for (const auto& [handle, certificates] : lists) EXPUNGE_RETURN_IF_ERROR(CheckChains(certificates));
  return absl::OkStatus();
}

// Tokens or states of a memory that is gone would be data that was to be erased.
absl::Status CheckNoStrays(const Context& context, const Records& memories) {
  absl::Status outcome;
  const auto visit = [&](absl::string_view key, absl::string_view) {
    const std::string owner(key.substr(0, sizeof(Digest)));
    if (memories.count(owner) == 0) outcome = CorruptMemory(owner, "records of it exist, but not the memory");
    return outcome.ok();
  };
  for (const Table table : {Table::kTokens, Table::kStates}) {
    EXPUNGE_RETURN_IF_ERROR(context.store->database().Scan(table, "", "", visit));
    EXPUNGE_RETURN_IF_ERROR(outcome);
  }
  return outcome;
}

// What the ledger says is not purged yet.
absl::Status LoadErasures(const Context& context) {
  for (const Tenant* tenant : context.tenants.All()) {
    EXPUNGE_ASSIGN_OR_RETURN(const Records records,
                             ReadAll(*context.store, Table::kErasures, AsView(tenant->handle())));
    for (const auto& [number, opened] : records) {
      storage::v1::ErasureRecord erasure;
      if (!ParseRecord(opened, &erasure)) return Corrupt("an entry of the deletion ledger is unreadable");
      if (erasure.purged()) continue;
      const absl::Duration age = context.clock() - absl::FromUnixNanos(erasure.create_time_unix_nanos());
      // A clock that was set back must not make it look new, nor young for ever.
      const auto since =
          std::chrono::steady_clock::now() -
          absl::ToChronoNanoseconds(std::clamp(age, absl::ZeroDuration(), absl::Hours(24 * 365)));
      context.erasures->Add({tenant->name(), CertificateNumber(number), since});
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Recover(Context* context, KeySets key_sets) {
  LiveKeys live;
  EXPUNGE_RETURN_IF_ERROR(LoadSecret(context, &live));
  // First, as it notices an older copy of the data: by that no key may be settled.
  EXPUNGE_ASSIGN_OR_RETURN(
      context->log, TransparencyLog::Open(context->store.get(), context->options.log,
                                          [ring = context->keys.get()] { return ring->checkpoint(); }));
  EXPUNGE_RETURN_IF_ERROR(context->keys->Load(*context->store, key_sets == KeySets::kMayBeOld));
  if (key_sets == KeySets::kAreComplete) EXPUNGE_RETURN_IF_ERROR(PublishKeys(*context));
  EXPUNGE_ASSIGN_OR_RETURN(CertificateLists lists, LoadTenants(context, &live));
  EXPUNGE_ASSIGN_OR_RETURN(const Records memories, ReadAll(*context->store, Table::kMemories, ""));
  for (const auto& [pseudonym, opened] : memories) {
    const absl::Status status = LoadMemory(context, pseudonym, opened, &live);
    // The store's own errors and the solver's keep their kind; everything else contradicts itself.
    if (absl::IsInvalidArgument(status)) return CorruptMemory(pseudonym, std::string(status.message()));
    EXPUNGE_RETURN_IF_ERROR(status);
  }
  EXPUNGE_RETURN_IF_ERROR(CheckNoStrays(*context, memories));
  EXPUNGE_RETURN_IF_ERROR(LoadErasures(*context));
  EXPUNGE_RETURN_IF_ERROR(CheckCertificates(*context, std::move(lists)));
  EXPUNGE_RETURN_IF_ERROR(OpenLedgerCopy(context));
  // A crash may have come between a change and this copy.
  EXPUNGE_RETURN_IF_ERROR(context->log->CopyCheckpoint());
  CrashPoint("start.checked");
  // All is read and agrees. What a crash left of a deletion is finished before anything is served.
  return context->store->vault().RetainOnly(live.All(), context->store->database().sequence());
}

}  // namespace expunge::core
