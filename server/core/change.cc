#include "server/core/change.h"

#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/fault_point.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "certificate/check_payload.h"
#include "certificate/envelope.h"
#include "certificate/physical_purge.h"
#include "server/core/build_info.h"
#include "server/core/configuration.h"
#include "server/core/handles.h"
#include "server/core/ledger.h"
#include "server/core/names.h"
#include "server/core/records.h"

namespace expunge::core {
namespace {

using storage::Table;

// Whether a certificate is one of an erasure.
bool Erases(const storage::v1::CertificateRecord& record) {
  return record.stage() == v1::ERASURE_STAGE_KEY_DESTROYED;
}

}  // namespace

Change::Change(const Context& context, Tenant& tenant, RequestIdentity request, absl::Time received)
    : context_(context),
      tenant_(tenant),
      request_(std::move(request)),
      received_(received),
      next_certificate_(tenant.next_certificate()) {}

Chain& Change::ChainOf(const std::shared_ptr<const MemoryIdentity>& memory) {
  identities_[memory->memory] = memory;
  const auto [entry, is_new] = chains_.try_emplace(memory->memory);
  if (is_new) {
    const auto present = tenant_.chains().find(memory->memory);
    if (present != tenant_.chains().end()) entry->second = present->second;
  }
  return entry->second;
}

absl::StatusOr<Chain> Change::ChainOfGone(const Digest& pseudonym) {
  const auto known = gone_chains_.find(ToBytes(pseudonym));
  if (known != gone_chains_.end()) return known->second;
  Chain chain;
  bool readable = true;
  const auto visit = [&](absl::string_view, const storage::OpenRecord& opened) {
    storage::v1::CertificateRecord record;
    readable = ParseRecord(opened, &record);
    if (readable && record.memory_pseudonym() == AsView(pseudonym)) {
      chain = {record.sequence() + 1, Sha256(record.payload())};
    }
    return readable;
  };
  EXPUNGE_RETURN_IF_ERROR(context_.store->Scan(Table::kCertificates, AsView(tenant_.handle()), "", visit));
  if (readable) return chain;
  return MakeError(Reason::kStorageCorrupt, "", "a certificate's record is unreadable");
}

void Change::Create(const Snapshot& created) {
  ChainOf(created->shared_identity());
  snapshots_[created->identity().memory] = created;
  rekeyed_.insert(created->identity().memory);
}

void Change::Put(Step step) {
  const std::string& memory = step.after->identity().memory;
  ChainOf(step.after->shared_identity());
  snapshots_[memory] = step.after;
  if (!step.removed.empty()) rekeyed_.insert(memory);
  token_changes_.push_back({step.after->shared_identity(), std::move(step.added), std::move(step.removed)});
  // A Purge can go through any number of memories: what could not be kept in the end goes now.
  const uint64_t bytes = step.solver->ByteSize();
  if (bytes > context_.options.max_live_solver_bytes - solver_bytes_) return;
  solver_bytes_ += bytes;
  solvers_[memory] = std::move(step.solver);
}

void Change::Remove(const Snapshot& before) {
  HeldTokens removed;
  for (const auto& held : before->tokens()) removed.push_back(held);
  token_changes_.push_back({before->shared_identity(), {}, std::move(removed)});
  snapshots_[before->identity().memory] = nullptr;
  gone_.push_back(before);
}

absl::Time Change::Issued() {
  // One for all certificates of a change.
  if (!ticket_.has_value()) ticket_.emplace(*context_.keys, context_.clock());
  return ticket_->time();
}

v1::Certificate Change::AddCertificate(storage::v1::CertificateRecord record, Chain* chain) {
  record.set_sequence(chain->next_sequence);
  *chain = {chain->next_sequence + 1, Sha256(record.payload())};
  const uint64_t number = next_certificate_++;
  v1::Certificate certificate = DescribeRecord(tenant_, number, record);
  certificates_[number] = std::move(record);
  return certificate;
}

v1::Certificate Change::Issue(const MemoryView& before, const certificate::StateSummary& after,
                              CertificateContent content) {
  Chain& chain = ChainOf(before.shared_identity());
  const absl::Time issued = Issued();
  storage::v1::CertificateRecord record;
  record.set_kind(KindProto(content.kind));
  record.set_memory(before.identity().memory);
  record.set_memory_pseudonym(ToBytes(before.identity().pseudonym));
  record.set_create_time_unix_nanos(absl::ToUnixNanos(issued));
  if (content.kind != certificate::Kind::kState) record.set_stage(v1::ERASURE_STAGE_KEY_DESTROYED);
  if (request_.has_id) record.set_request(ToBytes(request_.handle));
  record.set_payload(certificate::EncodePayload(MakeStatement(
      {context_, tenant_, request_, received_, issued, chain}, before, after, std::move(content))));
  return AddCertificate(std::move(record), &chain);
}

absl::Status Change::Complete(uint64_t number, const storage::v1::CertificateRecord& first) {
  const std::optional<Digest> pseudonym = DigestFromBytes(first.memory_pseudonym());
  if (!pseudonym.has_value()) return MakeError(Reason::kStorageCorrupt, "", "a certificate names no memory");
  const Snapshot memory = tenant_.Find(first.memory());
  const bool gone = memory == nullptr || memory->identity().pseudonym != *pseudonym;
  if (gone) {
    EXPUNGE_ASSIGN_OR_RETURN(gone_chains_[ToBytes(*pseudonym)], ChainOfGone(*pseudonym));
  }
  Chain& chain = gone ? gone_chains_[ToBytes(*pseudonym)] : ChainOf(memory->shared_identity());
  const absl::Time issued = Issued();
  certificate::PhysicalPurge purge;
  purge.issued = issued;
  purge.purged = issued;
  purge.sequence = chain.next_sequence;
  purge.previous_payload_sha256 = chain.last_payload_sha256;
  purge.software_version = std::string(SoftwareVersion());
  purge.software_commit = std::string(SoftwareCommit());
  purge.configuration_sha256 = ConfigurationSha256(context_);
  const absl::StatusOr<std::string> payload = certificate::EncodePhysicalPurge(first.payload(), purge);
  if (!payload.ok()) {
    return MakeError(Reason::kStorageCorrupt, "", "a certificate of an erasure cannot be completed");
  }
  storage::v1::CertificateRecord record = first;
  record.set_create_time_unix_nanos(absl::ToUnixNanos(issued));
  record.set_stage(v1::ERASURE_STAGE_PHYSICALLY_PURGED);
  record.set_completes(number);
  record.clear_request();
  record.clear_signature();
  record.set_payload(*payload);
  AddCertificate(std::move(record), &chain);
  return absl::OkStatus();
}

void Change::PutErasure(uint64_t first_certificate, storage::v1::ErasureRecord erasure) {
  erasures_[first_certificate] = std::move(erasure);
}

void Change::Reissue(uint64_t number, storage::v1::CertificateRecord record) {
  const Snapshot memory = tenant_.Find(record.memory());
  if (memory != nullptr && AsView(memory->identity().pseudonym) == record.memory_pseudonym()) {
    ChainOf(memory->shared_identity()) = {record.sequence() + 1, Sha256(record.payload())};
  }
  next_certificate_ = number + 1;
  certificates_[number] = std::move(record);
}

void Change::PutAnswer(absl::string_view request_handle, storage::v1::RequestRecord record) {
  answers_[std::string(request_handle)] = std::move(record);
}

void Change::Renumber(const Snapshot& renumbered) {
  ChainOf(renumbered->shared_identity());
  snapshots_[renumbered->identity().memory] = renumbered;
}

// ---- Commit. ----

absl::Status Change::TakeKeys() {
  if (tenant_.key_slot() == 0) {
    EXPUNGE_ASSIGN_OR_RETURN(const auto slots, context_.store->vault().Take(storage::kMasterSlot, 1));
    tenant_.set_key_slot(slots.front());
  }
  for (const auto& [memory, chain] : chains_) {
    const auto present = tenant_.memory_keys().find(memory);
    if (present != tenant_.memory_keys().end()) memory_keys_[memory] = present->second;
  }
  if (!rekeyed_.empty()) {
    EXPUNGE_ASSIGN_OR_RETURN(const auto slots,
                             context_.store->vault().Take(tenant_.key_slot(), rekeyed_.size()));
    size_t next = 0;
    for (const std::string& memory : rekeyed_) {
      const auto old = memory_keys_.find(memory);
      if (old != memory_keys_.end()) destroyed_.push_back(old->second);
      memory_keys_[memory] = slots[next++];
    }
  }
  for (const Snapshot& memory : gone_) {
    destroyed_.push_back(tenant_.memory_keys().at(memory->identity().memory));
  }
  return absl::OkStatus();
}

absl::Status Change::SealTokens() {
  for (const TokenChange& change : token_changes_) {
    const Digest& pseudonym = change.memory->pseudonym;
    for (const auto& held : change.removed) {
      transaction_.Delete(Table::kTokens, TokenKey(pseudonym, held->handle));
      destroyed_.push_back(held->key_slot);
    }
    std::vector<storage::Slot> slots;
    for (const auto& held : change.added) slots.push_back(held->key_slot);
    EXPUNGE_ASSIGN_OR_RETURN(const auto keys, context_.store->vault().Keys(tenant_.key_slot(), slots));
    for (size_t i = 0; i < slots.size(); ++i) {
      const HeldToken& held = *change.added[i];
      storage::v1::TokenRecord record = EncodeToken(held);
      const std::string record_key = TokenKey(pseudonym, held.handle);
      transaction_.Put(Table::kTokens, record_key,
                       storage::SealedStore::SealMessageWith(keys[i], Table::kTokens, record_key,
                                                             {tenant_.key_slot(), slots[i]}, record));
      WipeRecord(&record);
    }
  }
  return absl::OkStatus();
}

absl::Status Change::SealMemories() {
  for (const auto& [memory, snapshot] : snapshots_) {
    if (snapshot == nullptr) chains_.erase(memory);
  }
  for (const Snapshot& memory : gone_) {
    const absl::string_view pseudonym = AsView(memory->identity().pseudonym);
    transaction_.Delete(Table::kStates, pseudonym);
    transaction_.Delete(Table::kMemories, pseudonym);
  }
  for (const auto& [memory, chain] : chains_) {
    const MemoryIdentity& identity = *identities_.at(memory);
    const storage::KeyName key{tenant_.key_slot(), memory_keys_.at(memory)};
    EXPUNGE_RETURN_IF_ERROR(context_.store->Put(Table::kMemories, AsView(identity.pseudonym), key,
                                                EncodeMemory(identity, chain), &transaction_));
    const auto snapshot = snapshots_.find(memory);
    if (snapshot == snapshots_.end()) continue;
    EXPUNGE_RETURN_IF_ERROR(context_.store->Put(Table::kStates, AsView(identity.pseudonym), key,
                                                EncodeState(*snapshot->second), &transaction_));
  }
  return absl::OkStatus();
}

absl::Status Change::SignCertificates(TransparencyLog::Turn* turn) {
  const std::shared_ptr<const certificate::Signer> signer = context_.keys->certificate();
  for (auto& [number, record] : certificates_) {
    if (record.signature().empty()) {
      EXPUNGE_ASSIGN_OR_RETURN(std::string signature, signer->Sign(certificate::PreAuthEncoding(
                                                          certificate::kPayloadType, record.payload())));
      const absl::Time issued = absl::FromUnixNanos(record.create_time_unix_nanos());
      if (context_.keys->Check(signer->KeyId(), issued, turn->next_index()) !=
          certificate::KeyWindowReason::kOk) {
        return MakeError(
            Reason::kInternal, "",
            "the key that signs was rotated, and the clock set back, while this change was made; "
            "nothing was changed: repeat it");
      }
      record.set_signature(std::move(signature));
      record.set_key_id(signer->KeyId());
      record.set_log_index(turn->next_index());
    }
    if (record.log_index() != turn->next_index()) {
      return MakeError(Reason::kInternal, "",
                       "a certificate has another place in the log; nothing was changed");
    }
    EXPUNGE_ASSIGN_OR_RETURN(std::string leaf, LeafOf(record));
    turn->Add(std::move(leaf));
  }
  EXPUNGE_RETURN_IF_ERROR(turn->Put(&transaction_));
  if (!CopiesLedger()) return absl::OkStatus();
  ledger_.records.insert(ledger_.records.end(), turn->records().begin(), turn->records().end());
  return absl::OkStatus();
}

absl::Status Change::SealTenant() {
  storage::v1::TenantRecord tenant;
  tenant.set_name(tenant_.name());
  tenant.set_next_certificate(next_certificate_);
  EXPUNGE_RETURN_IF_ERROR(
      context_.store->Put(Table::kMeta, TenantKey(tenant_.handle()), TenantKeyName(), tenant, &transaction_));
  for (const auto& [number, record] : certificates_) {
    EXPUNGE_RETURN_IF_ERROR(
        PutInLedger(Table::kCertificates, CertificateKey(tenant_.handle(), number), record));
  }
  return absl::OkStatus();
}

absl::Status Change::PutInLedger(Table table, std::string key, const google::protobuf::MessageLite& record) {
  EXPUNGE_ASSIGN_OR_RETURN(std::string value,
                           context_.store->SealMessage(table, key, TenantKeyName(), record));
  transaction_.Put(table, key, value);
  if (CopiesLedger()) ledger_.records.push_back({table, std::move(key), std::move(value)});
  return absl::OkStatus();
}

absl::Status Change::SealLedger() {
  storage::v1::ErasureRecord erasure;
  for (const auto& [number, record] : certificates_) {
    if (Erases(record)) erasure.add_certificates(number);
  }
  // One that is carried out again has its entry, perhaps under the number of an earlier certificate.
  if (erasure.certificates_size() > 0 && erasures_.empty()) {
    erasure.set_create_time_unix_nanos(absl::ToUnixNanos(context_.clock()));
    std::set<std::string> requests;
    for (const TokenChange& change : token_changes_) {
      for (const auto& held : change.removed) {
        erasure.add_tokens(TokenKey(change.memory->pseudonym, held->handle));
        if (!held->added_by.empty()) requests.insert(held->added_by);
      }
    }
    for (const std::string& request : requests) {
      erasure.add_requests(request);
      if (!CopiesLedger()) continue;
      ledger_.records.push_back(LostRequest(absl::StrCat(AsView(tenant_.handle()), request)));
    }
    for (const Snapshot& memory : gone_) erasure.add_memories(ToBytes(memory->identity().pseudonym));
    erasures_[erasure.certificates(0)] = std::move(erasure);
  }
  for (const auto& [first, record] : erasures_) {
    EXPUNGE_RETURN_IF_ERROR(PutInLedger(Table::kErasures, ErasureKey(tenant_.handle(), first), record));
  }
  return absl::OkStatus();
}

absl::Status Change::CopyLedger() {
  if (!CopiesLedger()) return absl::OkStatus();
  ledger_.tenant = tenant_.handle();
  return context_.ledger_copy->Append(ledger_);
}

absl::Status Change::SealAnswers(const google::protobuf::Message& answer,
                                 absl::string_view memory_pseudonym) {
  if (request_.has_id) {
    storage::v1::RequestRecord record;
    record.set_method(request_.method);
    record.set_body_mac(ToBytes(request_.body_mac));
    record.set_response(answer.SerializeAsString());
    record.set_memory_pseudonym(std::string(memory_pseudonym));
    PutAnswer(AsView(request_.handle), std::move(record));
  }
  for (const auto& [request, record] : answers_) {
    EXPUNGE_RETURN_IF_ERROR(
        PutInLedger(Table::kRequests, absl::StrCat(AsView(tenant_.handle()), request), record));
  }
  return absl::OkStatus();
}

void Change::PublishSupport(const Snapshot& before, const Snapshot& after) {
  if (context_.reads == nullptr) return;
  const auto support = [](const Snapshot& memory) {
    return memory == nullptr || memory->support().empty() ? nullptr : memory->shared_support();
  };
  context_.reads->Publish(support(before), support(after));
}

void Change::Publish() {
  tenant_.set_next_certificate(next_certificate_);
  for (const auto& [memory, snapshot] : snapshots_) {
    if (snapshot != nullptr) continue;
    tenant_.chains().erase(memory);
    tenant_.memory_keys().erase(memory);
  }
  for (const auto& [memory, chain] : chains_) {
    tenant_.chains()[memory] = chain;
    tenant_.memory_keys()[memory] = memory_keys_.at(memory);
  }
  std::map<std::string, Snapshot> before;
  for (const auto& [memory, snapshot] : snapshots_) before[memory] = tenant_.Find(memory);
  tenant_.Publish(snapshots_);
  // After that: who reads the old one from now on knows that it is old.
  for (const auto& [memory, snapshot] : snapshots_) PublishSupport(before.at(memory), snapshot);
  for (auto& [memory, solver] : solvers_) {
    context_.solvers->Keep(*snapshots_.at(memory), std::move(solver));
  }
  for (const Snapshot& memory : gone_) context_.solvers->Drop(*memory);
}

absl::Status Change::Commit(const google::protobuf::Message& answer, absl::string_view memory_pseudonym) {
  for (const auto& [number, record] : certificates_) {
    if (certificate::CheckPayload(record.payload()) == certificate::VerifyReason::kOk) continue;
    return MakeError(Reason::kInternal, "",
                     "a certificate's payload failed its own check; nothing was changed");
  }
  EXPUNGE_RETURN_IF_ERROR(TakeKeys());
  EXPUNGE_RETURN_IF_ERROR(SealTokens());
  EXPUNGE_RETURN_IF_ERROR(SealMemories());
  // The order of the log is that of the batches, and of the ledger's copy.
  std::optional<TransparencyLog::Turn> turn;
  if (!certificates_.empty()) {
    turn.emplace(*context_.log);
    EXPUNGE_RETURN_IF_ERROR(SignCertificates(&*turn));
  }
  EXPUNGE_RETURN_IF_ERROR(SealTenant());
  EXPUNGE_RETURN_IF_ERROR(SealLedger());
  EXPUNGE_RETURN_IF_ERROR(SealAnswers(answer, memory_pseudonym));
  if (!destroyed_.empty() || !erasures_.empty()) transaction_.UseReserve();
  bool durable = false;
  absl::Status committed = context_.store->Commit(std::move(transaction_), destroyed_, &durable);
  if (!durable) return committed;
  if (turn.has_value()) turn->Keep();
  Publish();
  for (const auto& [first, erasure] : erasures_) {
    if (erasure.purged()) {
      context_.erasures->Remove(tenant_.name(), first);
    } else {
      context_.erasures->Add({tenant_.name(), first, std::chrono::steady_clock::now()});
    }
  }
  EXPUNGE_RETURN_IF_ERROR(committed);
  EXPUNGE_RETURN_IF_ERROR(CopyLedger());
  turn.reset();
  // What is released is covered by the copy of the checkpoint: also what an earlier change could not copy.
  const absl::Status copied = context_.log->CopyCheckpoint();
  if (!certificates_.empty()) EXPUNGE_RETURN_IF_ERROR(copied);
  if (copied.ok()) tenant_.Release();
  context_.releases->Raise();
  CrashPoint("commit.released");
  return absl::OkStatus();
}

absl::Status Change::Seal(v1::Certificate* certificate) const {
  EXPUNGE_ASSIGN_OR_RETURN(const CertificateName name, ParseCertificateName(certificate->name(), "name"));
  return SealInto(context_, certificates_.at(name.number), certificate);
}

absl::Status CheckWritable(const Context& context) {
  const bool copied = context.ledger_copy == nullptr || context.ledger_copy->writable();
  if (context.store->writable() && copied) return absl::OkStatus();
  return MakeError(Reason::kStorageFailed, "",
                   "an earlier write failed: the data is read-only until the server is restarted");
}

}  // namespace expunge::core
