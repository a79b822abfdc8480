#include "server/core/certificates.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/status_macros.h"
#include "certificate/envelope.h"
#include "server/core/build_info.h"
#include "server/core/config.h"
#include "server/core/handles.h"
#include "server/core/names.h"
#include "server/core/records.h"
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
  }
  return v1::CERTIFICATE_KIND_UNSPECIFIED;
}

std::vector<certificate::RemovedToken> RemovedTokens(const MemoryView& before,
                                                     const std::vector<size_t>& places) {
  std::vector<certificate::RemovedToken> removed;
  removed.reserve(places.size());
  for (const size_t place : places) {
    removed.push_back(
        {before.tokens()[place]->commitment, static_cast<char>(before.EntryAt(place).token_class)});
  }
  return removed;
}

certificate::Statement MakeStatement(const CertificateOccasion& occasion, const MemoryView& before,
                                     const certificate::StateSummary& after, CertificateContent content) {
  const solver::Config& config = before.identity().config;
  certificate::Statement statement;
  statement.kind = content.kind;
  statement.issued = occasion.issued;
  statement.software_version = std::string(SoftwareVersion());
  statement.software_commit = std::string(SoftwareCommit());
  statement.tenant_pseudonym = occasion.tenant.handle();
  statement.memory_pseudonym = before.identity().pseudonym;
  statement.sequence = occasion.chain.next_sequence;
  statement.previous_payload_sha256 = occasion.chain.last_payload_sha256;
  statement.request_pseudonym = occasion.request.handle;
  statement.received = occasion.received;
  statement.legal_basis = std::move(content.legal_basis);
  statement.nonce = std::move(content.nonce);
  statement.master_key = occasion.master_key;
  statement.algorithm = {config.gamma, config.ridge, BoxBoundText(config.box), config.key_dimension,
                         config.value_dimension};
  statement.before = before.summary();
  statement.after = after;
  statement.removed = std::move(content.removed);
  std::sort(statement.removed.begin(), statement.removed.end(),
            [](const auto& a, const auto& b) { return a.commitment < b.commitment; });
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

v1::Certificate SealRecord(const Context& context, const Tenant& tenant, uint64_t number,
                           const storage::v1::CertificateRecord& record) {
  v1::Certificate certificate = DescribeRecord(tenant, number, record);
  certificate.set_envelope(certificate::Seal(record.payload(), context.key));
  return certificate;
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
        "the change is durable, but its keys could not be destroyed: the certificate is withheld until a "
        "restart of the server has destroyed them");
  }
  EXPUNGE_ASSIGN_OR_RETURN(v1::Certificate stored, LoadCertificate(context, tenant, name.number));
  certificate->set_envelope(std::move(*stored.mutable_envelope()));
  return absl::OkStatus();
}

}  // namespace expunge::core
