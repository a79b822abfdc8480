#include "server/core/certificates.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/status_macros.h"
#include "certificate/envelope.h"
#include "certificate/log/leaf.h"
#include "server/core/build_info.h"
#include "server/core/config.h"
#include "server/core/configuration.h"
#include "server/core/handles.h"
#include "server/core/names.h"
#include "server/core/records.h"
#include "server/core/selections.h"
#include "server/core/times.h"

namespace expunge::core {

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
    case certificate::Kind::kSelection:
      return v1::CERTIFICATE_KIND_SELECTION;
  }
  return v1::CERTIFICATE_KIND_UNSPECIFIED;
}

std::vector<certificate::RemovedToken> RemovedTokens(const MemoryView& before,
                                                     const std::vector<size_t>& places) {
  std::vector<certificate::RemovedToken> removed;
  removed.reserve(places.size());
  for (const size_t place : places) {
    const HeldToken& held = *before.tokens()[place];
    removed.push_back({held.handle, held.commitment, static_cast<char>(before.EntryAt(place).token_class)});
  }
  return removed;
}

namespace {

// What the service promises about what remains when the keys are destroyed. In whole seconds, not earlier
// than promised: `issued` was rounded down.
void Promise(const ServiceOptions& options, certificate::Statement* statement) {
  const auto after = [&](std::chrono::milliseconds time) {
    return statement->issued + absl::Ceil(absl::FromChrono(time), absl::Seconds(1)) + absl::Seconds(1);
  };
  if (options.erase_bytes_within.count() > 0) {
    statement->sealed_bytes_expire = after(options.erase_bytes_within);
  }
  if (options.backups_kept_for.count() > 0) statement->backups_expire = after(options.backups_kept_for);
}

void FillRemoval(const CertificateOccasion& occasion, const MemoryView& before, CertificateContent content,
                 certificate::Statement* statement) {
  if (content.basis.has_due()) statement->due = TimeFromProto(content.basis.due());
  statement->request_tokens = content.request_memories > 0 ? content.request_tokens : content.removed.size();
  statement->request_memories = std::max<uint64_t>(content.request_memories, 1);
  statement->master_key = occasion.context.store->options().master_key->custody();
  Promise(occasion.context.options, statement);
  std::vector<Digest> handles;
  handles.reserve(content.removed.size());
  for (const certificate::RemovedToken& token : content.removed) handles.push_back(token.handle);
  statement->transition = before.content().tree.TransitionOf(std::move(handles));
  statement->removed = std::move(content.removed);
  statement->horizon_margin_lower = content.horizon_margin_lower;
}

}  // namespace

certificate::Statement MakeStatement(const CertificateOccasion& occasion, const MemoryView& before,
                                     const certificate::StateSummary& after, CertificateContent content) {
  const solver::Config& config = before.identity().config;
  certificate::Statement statement;
  statement.kind = content.kind;
  statement.issued = occasion.issued;
  statement.software_version = std::string(SoftwareVersion());
  statement.software_commit = std::string(SoftwareCommit());
  statement.configuration_sha256 = ConfigurationSha256(occasion.context);
  statement.tenant_pseudonym = occasion.tenant.handle();
  statement.memory_pseudonym = before.identity().pseudonym;
  statement.sequence = occasion.chain.next_sequence;
  statement.previous_payload_sha256 = occasion.chain.last_payload_sha256;
  statement.request_pseudonym = occasion.request.handle;
  statement.received = occasion.received;
  statement.legal_basis = content.basis.legal_basis();
  statement.nonce = std::move(content.nonce);
  statement.algorithm = {config.gamma, config.ridge, BoxBoundText(config.box), config.key_dimension,
                         config.value_dimension};
  statement.before = before.summary();
  statement.after = after;
  statement.scope = content.kind == certificate::Kind::kSelection ? certificate::Scope::kRetainedSet
                                                                  : before.content().scope;
  if (content.kind != certificate::Kind::kState) {
    FillRemoval(occasion, before, std::move(content), &statement);
  }
  return statement;
}

v1::Certificate DescribeRecord(const Tenant& tenant, uint64_t number,
                               const storage::v1::CertificateRecord& record) {
  v1::Certificate certificate;
  certificate.set_name(FormatCertificateName(tenant.name(), number));
  certificate.set_kind(static_cast<v1::CertificateKind>(record.kind()));
  certificate.set_memory(FormatMemoryName(tenant.name(), record.memory()));
  *certificate.mutable_create_time() = TimestampProto(absl::FromUnixNanos(record.create_time_unix_nanos()));
  certificate.set_stage(static_cast<v1::ErasureStage>(record.stage()));
  if (record.completes() > 0) {
    certificate.set_completes(FormatCertificateName(tenant.name(), record.completes()));
  }
  return certificate;
}

absl::Status SealInto(const Context& context, const storage::v1::CertificateRecord& record,
                      v1::Certificate* certificate) {
  certificate->set_envelope(certificate::MakeEnvelope(record.payload(), record.key_id(), record.signature()));
  EXPUNGE_ASSIGN_OR_RETURN(*certificate->mutable_log_proof(), context.log->Proof(record.log_index()));
  return absl::OkStatus();
}

absl::StatusOr<v1::Certificate> SealRecord(const Context& context, const Tenant& tenant, uint64_t number,
                                           const storage::v1::CertificateRecord& record) {
  v1::Certificate certificate = DescribeRecord(tenant, number, record);
  EXPUNGE_RETURN_IF_ERROR(SealInto(context, record, &certificate));
  DescribeSelection(tenant, number, record, &certificate);
  return certificate;
}

absl::StatusOr<std::string> LeafOf(const storage::v1::CertificateRecord& record) {
  return certificate::MakeLogLeaf(record.payload(), record.signature(), record.key_id());
}

absl::StatusOr<storage::v1::CertificateRecord> LoadCertificateRecord(const Context& context,
                                                                     const Tenant& tenant, uint64_t number) {
  const absl::StatusOr<storage::OpenRecord> opened =
      context.store->Get(storage::Table::kCertificates, CertificateKey(tenant.handle(), number));
  if (absl::IsNotFound(opened.status())) {
    return MakeError(Reason::kStorageCorrupt, "", "a certificate is missing");
  }
  EXPUNGE_RETURN_IF_ERROR(opened.status());
  storage::v1::CertificateRecord record;
  if (ParseRecord(*opened, &record)) return record;
  return MakeError(Reason::kStorageCorrupt, "", "a certificate's record is unreadable");
}

absl::StatusOr<v1::Certificate> LoadCertificate(const Context& context, const Tenant& tenant,
                                                uint64_t number) {
  // One that is stored and not released is none yet: its keys are still being destroyed.
  if (number == 0 || number >= tenant.released()) {
    return MakeError(Reason::kCertificateUnknown, "name", "there is no certificate of this name");
  }
  EXPUNGE_ASSIGN_OR_RETURN(const storage::v1::CertificateRecord record,
                           LoadCertificateRecord(context, tenant, number));
  return SealRecord(context, tenant, number, record);
}

absl::Status RestoreEnvelope(const Context& context, const Tenant& tenant, v1::Certificate* certificate) {
  EXPUNGE_ASSIGN_OR_RETURN(const CertificateName name, ParseCertificateName(certificate->name(), "name"));
  if (name.number >= tenant.released()) {
    return MakeError(
        Reason::kStorageFailed, "",
        "the change is durable, but its keys could not be destroyed, or a copy outside the database could "
        "not be "
        "written: the certificate is withheld until a later change or a restart of the server has done it");
  }
  EXPUNGE_ASSIGN_OR_RETURN(v1::Certificate stored, LoadCertificate(context, tenant, name.number));
  certificate->set_envelope(std::move(*stored.mutable_envelope()));
  certificate->set_log_proof(std::move(*stored.mutable_log_proof()));
  return absl::OkStatus();
}

}  // namespace expunge::core
