// The calls of the wire API, one function each, over a Context. proto/expunge/v1 says what they do;
// server/core/service.h, what they have in common.
#ifndef EXPUNGE_SERVER_CORE_OPERATIONS_H_
#define EXPUNGE_SERVER_CORE_OPERATIONS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "expunge/v1/memory_service.pb.h"
#include "expunge/v1/unlearning_service.pb.h"
#include "server/core/answer_stream.h"
#include "server/core/context.h"

namespace expunge::core {

// memories.cc
absl::StatusOr<v1::CreateMemoryResponse> CreateMemory(Context& context,
                                                      const v1::CreateMemoryRequest& request);
absl::StatusOr<v1::GetMemoryResponse> GetMemory(const Context& context, const v1::GetMemoryRequest& request);
absl::StatusOr<v1::ListMemoriesResponse> ListMemories(const Context& context,
                                                      const v1::ListMemoriesRequest& request);
absl::StatusOr<v1::DeleteMemoryResponse> DeleteMemory(const Context& context,
                                                      const v1::DeleteMemoryRequest& request);
// add.cc
absl::StatusOr<v1::AddResponse> AddTokens(const Context& context, const v1::AddRequest& request);
// remove.cc
absl::StatusOr<v1::DeleteResponse> DeleteTokens(const Context& context, const v1::DeleteRequest& request);
absl::StatusOr<v1::PurgeResponse> PurgeSubject(const Context& context, const v1::PurgeRequest& request);
// evict.cc
absl::StatusOr<v1::EvictResponse> EvictTokens(const Context& context, const v1::EvictRequest& request);
// read.cc
absl::StatusOr<v1::ReadResponse> ReadMemory(const Context& context, const v1::ReadRequest& request);
// As Service::ReadGroup.
std::vector<absl::StatusOr<v1::ReadResponse>> ReadMemories(const Context& context,
                                                           absl::Span<const v1::ReadRequest> requests);
// list_tokens.cc
absl::StatusOr<v1::ListTokensResponse> ListTokens(const Context& context,
                                                  const v1::ListTokensRequest& request);
// certify.cc
absl::StatusOr<v1::CertifyResponse> CertifyState(const Context& context, const v1::CertifyRequest& request);
// list_certificates.cc
absl::StatusOr<v1::GetCertificateResponse> GetCertificate(const Context& context,
                                                          const v1::GetCertificateRequest& request);
absl::StatusOr<v1::ListCertificatesResponse> ListCertificates(const Context& context,
                                                              const v1::ListCertificatesRequest& request);
absl::StatusOr<std::unique_ptr<AnswerStream<v1::WatchCertificatesResponse>>> WatchCertificates(
    const Context& context, const v1::WatchCertificatesRequest& request);
// log_proof.cc
absl::StatusOr<v1::GetLogProofResponse> GetLogProof(const Context& context,
                                                    const v1::GetLogProofRequest& request);
// export_audit.cc
absl::StatusOr<std::unique_ptr<AnswerStream<v1::ExportAuditResponse>>> ExportAudit(
    const Context& context, const v1::ExportAuditRequest& request);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_OPERATIONS_H_
