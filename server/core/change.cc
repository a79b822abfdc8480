#include "server/core/change.h"

#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "certificate/check_payload.h"
#include "certificate/envelope.h"
#include "server/core/handles.h"
#include "server/core/records.h"

namespace expunge::core {
namespace {

using storage::Table;

v1::CertificateKind KindProto(certificate::Kind kind) {
  switch (kind) {
    case certificate::Kind::kDeletion:
      return v1::CERTIFICATE_KIND_DELETION;
    case certificate::Kind::kPurge:
      return v1::CERTIFICATE_KIND_PURGE;
    case certificate::Kind::kState:
      return v1::CERTIFICATE_KIND_STATE;
    case certificate::Kind::kMemoryDeletion:
      return v1::CERTIFICATE_KIND_MEMORY_DELETION;
  }
  return v1::CERTIFICATE_KIND_UNSPECIFIED;
}

template <typename Tokens>
void DeleteTokens(const Tokens& tokens, const Digest& pseudonym, storage::Transaction* transaction) {
  for (const auto& held : tokens) transaction->Delete(Table::kTokens, TokenKey(pseudonym, held->handle));
}

}  // namespace

Change::Change(const Context& context, Tenant& tenant, RequestIdentity request, absl::Time received)
    : context_(context),
      tenant_(tenant),
      request_(std::move(request)),
      received_(received),
      next_certificate_(tenant.next_certificate()) {}

Chain& Change::ChainOf(const MemoryView& view) {
  const std::string& memory = view.identity().memory;
  identities_[memory] = view.shared_identity();
  const auto [entry, is_new] = chains_.try_emplace(memory);
  if (is_new) {
    const auto present = tenant_.chains().find(memory);
    if (present != tenant_.chains().end()) entry->second = present->second;
  }
  return entry->second;
}

void Change::PutState(const Snapshot& snapshot) {
  ChainOf(*snapshot);
  transaction_.Put(Table::kStates, AsView(snapshot->identity().pseudonym),
                   EncodeState(*snapshot).SerializeAsString());
  snapshots_[snapshot->identity().memory] = snapshot;
}

void Change::Create(const Snapshot& created) { PutState(created); }

void Change::Put(Step step) {
  const Digest& pseudonym = step.after->identity().pseudonym;
  DeleteTokens(step.removed, pseudonym, &transaction_);
  for (const auto& held : step.added) {
    transaction_.Put(Table::kTokens, TokenKey(pseudonym, held->handle),
                     EncodeToken(*held).SerializeAsString());
  }
  PutState(step.after);
  // A Purge can go through any number of memories: what could not be kept in the end goes now.
  const uint64_t bytes = step.solver->ByteSize();
  if (bytes > context_.options.max_live_solver_bytes - solver_bytes_) return;
  solver_bytes_ += bytes;
  solvers_[step.after->identity().memory] = std::move(step.solver);
}

void Change::Remove(const Snapshot& before) {
  const Digest& pseudonym = before->identity().pseudonym;
  DeleteTokens(before->tokens(), pseudonym, &transaction_);
  transaction_.Delete(Table::kStates, AsView(pseudonym));
  transaction_.Delete(Table::kMemories, AsView(pseudonym));
  snapshots_[before->identity().memory] = nullptr;
  gone_.push_back(before);
}

v1::Certificate Change::Issue(const MemoryView& before, const certificate::StateSummary& after,
                              CertificateContent content) {
  Chain& chain = ChainOf(before);
  // Whole seconds, as in the payload.
  const absl::Time issued = absl::FromUnixSeconds(absl::ToUnixSeconds(context_.clock()));
  storage::v1::CertificateRecord record;
  record.set_kind(KindProto(content.kind));
  record.set_memory(before.identity().memory);
  record.set_create_time_unix_nanos(absl::ToUnixNanos(issued));
  record.set_key_id(context_.key_id);
  record.set_payload(certificate::EncodePayload(
      MakeStatement({tenant_, request_, received_, issued, chain}, before, after, std::move(content))));
  chain = {chain.next_sequence + 1, Sha256(record.payload())};

  const uint64_t number = next_certificate_++;
  transaction_.Put(Table::kCertificates, CertificateKey(tenant_.handle(), number),
                   record.SerializeAsString());
  v1::Certificate certificate = DescribeRecord(tenant_, number, record);
  payloads_[certificate.name()] = record.payload();
  return certificate;
}

absl::Status Change::Commit(const google::protobuf::Message& answer, absl::string_view memory_pseudonym) {
  for (const auto& [name, payload] : payloads_) {
    if (certificate::CheckPayload(payload) == certificate::VerifyReason::kOk) continue;
    return MakeError(Reason::kInternal, "",
                     "a certificate's payload failed its own check; nothing was changed");
  }
  for (const auto& [memory, snapshot] : snapshots_) {
    if (snapshot == nullptr) chains_.erase(memory);
  }
  for (const auto& [memory, chain] : chains_) {
    const MemoryIdentity& identity = *identities_.at(memory);
    transaction_.Put(Table::kMemories, AsView(identity.pseudonym),
                     EncodeMemory(identity, chain).SerializeAsString());
  }
  storage::v1::TenantRecord tenant;
  tenant.set_name(tenant_.name());
  tenant.set_next_certificate(next_certificate_);
  transaction_.Put(Table::kMeta, TenantKey(tenant_.handle()), tenant.SerializeAsString());
  if (request_.has_id) {
    storage::v1::RequestRecord record;
    record.set_method(request_.method);
    record.set_body_mac(ToBytes(request_.body_mac));
    record.set_response(answer.SerializeAsString());
    record.set_memory_pseudonym(std::string(memory_pseudonym));
    transaction_.Put(Table::kRequests, RequestKey(tenant_.handle(), request_.handle),
                     record.SerializeAsString());
  }
  EXPUNGE_RETURN_IF_ERROR(context_.store->Commit(std::move(transaction_)));

  tenant_.set_next_certificate(next_certificate_);
  for (const auto& [memory, snapshot] : snapshots_) {
    if (snapshot == nullptr) tenant_.chains().erase(memory);
  }
  for (const auto& [memory, chain] : chains_) tenant_.chains()[memory] = chain;
  tenant_.Publish(snapshots_);
  for (auto& [memory, solver] : solvers_) {
    context_.solvers->Keep(*snapshots_.at(memory), std::move(solver));
  }
  for (const Snapshot& memory : gone_) context_.solvers->Drop(*memory);
  return absl::OkStatus();
}

void Change::Seal(v1::Certificate* certificate) const {
  certificate->set_envelope(certificate::Seal(payloads_.at(certificate->name()), context_.key));
}

absl::Status CheckWritable(const Context& context) {
  if (context.store->writable()) return absl::OkStatus();
  return MakeError(Reason::kStorageFailed, "",
                   "an earlier write failed: the data is read-only until the server is restarted");
}

}  // namespace expunge::core
