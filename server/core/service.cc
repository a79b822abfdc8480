#include "server/core/service.h"

#include <utility>

#include "base/status_macros.h"
#include "server/core/admin.h"
#include "server/core/byte_eraser.h"
#include "server/core/context.h"
#include "server/core/key_requests.h"
#include "server/core/log_publisher.h"
#include "server/core/operations.h"
#include "server/core/recovery.h"

namespace expunge::core {

struct Service::Impl {
  Context context;
  std::unique_ptr<Admin> admin;
  // Last: their threads use the context.
  std::unique_ptr<LogPublisher> publisher;
  std::unique_ptr<ByteEraser> eraser;
};

absl::StatusOr<std::unique_ptr<Service>> Service::Open(std::unique_ptr<storage::SealedStore> store,
                                                       SigningKeys keys, Clock clock,
                                                       const ServiceOptions& options) {
  std::unique_ptr<Impl> impl(new Impl{Context(std::move(store), std::move(keys), std::move(clock), options),
                                      nullptr, nullptr, nullptr});
  EXPUNGE_ASSIGN_OR_RETURN(auto engine, options.make_engine(options.readout));
  impl->context.reads =
      std::make_unique<Reads>(std::move(engine), options.readout, options.readout_batch_delay);
  EXPUNGE_RETURN_IF_ERROR(Recover(&impl->context));
  if (!options.log_directory.empty()) {
    EXPUNGE_ASSIGN_OR_RETURN(impl->publisher, LogPublisher::Start(*impl->context.log, options.log_directory));
  }
  impl->admin = std::make_unique<Admin>(impl->context);
  impl->eraser = std::make_unique<ByteEraser>(impl->context);
  return std::unique_ptr<Service>(new Service(std::move(impl)));
}

Service::Service(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Service::~Service() = default;

absl::StatusOr<v1::CreateMemoryResponse> Service::CreateMemory(const v1::CreateMemoryRequest& request) {
  return core::CreateMemory(impl_->context, request);
}

absl::StatusOr<v1::GetMemoryResponse> Service::GetMemory(const v1::GetMemoryRequest& request) {
  return core::GetMemory(impl_->context, request);
}

absl::StatusOr<v1::ListMemoriesResponse> Service::ListMemories(const v1::ListMemoriesRequest& request) {
  return core::ListMemories(impl_->context, request);
}

absl::StatusOr<v1::DeleteMemoryResponse> Service::DeleteMemory(const v1::DeleteMemoryRequest& request) {
  return core::DeleteMemory(impl_->context, request);
}

absl::StatusOr<v1::AddResponse> Service::Add(const v1::AddRequest& request) {
  return AddTokens(impl_->context, request);
}

absl::StatusOr<v1::EvictResponse> Service::Evict(const v1::EvictRequest& request) {
  return EvictTokens(impl_->context, request);
}

absl::StatusOr<v1::ReadResponse> Service::Read(const v1::ReadRequest& request) {
  return ReadMemory(impl_->context, request);
}

std::vector<absl::StatusOr<v1::ReadResponse>> Service::ReadGroup(absl::Span<const v1::ReadRequest> requests) {
  return ReadMemories(impl_->context, requests);
}

absl::StatusOr<v1::ListTokensResponse> Service::ListTokens(const v1::ListTokensRequest& request) {
  return core::ListTokens(impl_->context, request);
}

absl::StatusOr<v1::DeleteResponse> Service::Delete(const v1::DeleteRequest& request) {
  return DeleteTokens(impl_->context, request);
}

absl::StatusOr<v1::PurgeResponse> Service::Purge(const v1::PurgeRequest& request) {
  return PurgeSubject(impl_->context, request);
}

absl::StatusOr<v1::CertifyResponse> Service::Certify(const v1::CertifyRequest& request) {
  return CertifyState(impl_->context, request);
}

absl::StatusOr<v1::GetCertificateResponse> Service::GetCertificate(const v1::GetCertificateRequest& request) {
  return core::GetCertificate(impl_->context, request);
}

absl::StatusOr<v1::ListCertificatesResponse> Service::ListCertificates(
    const v1::ListCertificatesRequest& request) {
  return core::ListCertificates(impl_->context, request);
}

absl::StatusOr<std::unique_ptr<AnswerStream<v1::WatchCertificatesResponse>>> Service::WatchCertificates(
    const v1::WatchCertificatesRequest& request) {
  return core::WatchCertificates(impl_->context, request);
}

absl::StatusOr<std::unique_ptr<AnswerStream<v1::ExportAuditResponse>>> Service::ExportAudit(
    const v1::ExportAuditRequest& request) {
  return core::ExportAudit(impl_->context, request);
}

absl::StatusOr<v1::GetLogProofResponse> Service::GetLogProof(const v1::GetLogProofRequest& request) {
  return core::GetLogProof(impl_->context, request);
}

absl::StatusOr<v1::GetErasureStatusResponse> Service::GetErasureStatus(
    const v1::GetErasureStatusRequest& request) {
  return impl_->eraser->Status(request);
}

absl::StatusOr<v1::CreateBackupResponse> Service::CreateBackup(const v1::CreateBackupRequest& request) {
  return impl_->admin->CreateBackup(request);
}

absl::StatusOr<v1::GetServerStatusResponse> Service::GetServerStatus(const v1::GetServerStatusRequest&) {
  return impl_->admin->Status(impl_->eraser->LastError());
}

absl::Status Service::EraseBytes() { return impl_->eraser->Erase(); }

absl::StatusOr<v1::ListSigningKeysResponse> Service::ListSigningKeys(const v1::ListSigningKeysRequest&) {
  return core::ListSigningKeys(impl_->context);
}

absl::StatusOr<v1::RotateSigningKeyResponse> Service::RotateSigningKey(
    const v1::RotateSigningKeyRequest& request) {
  return core::RotateSigningKey(impl_->context, request);
}

}  // namespace expunge::core
