#include "client/cpp/client.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "client/cpp/call.h"

namespace expunge::client {
namespace {

// Calls `fetch` (sends *request, returns the response) and `take` for every page, until one fails.
template <typename Request, typename Fetch, typename Take>
absl::Status EachPage(Request* request, const Fetch& fetch, const Take& take) {
  while (true) {
    auto page = fetch(*request);
    EXPUNGE_RETURN_IF_ERROR(page.status());
    const std::string next = page->next_page_token();
    EXPUNGE_RETURN_IF_ERROR(take(*std::move(page)));
    if (next.empty()) return absl::OkStatus();
    if (next == request->page_token()) return absl::InternalError("the service repeats a page token");
    request->set_page_token(next);
  }
}

}  // namespace

Client::Client(const ClientOptions& options) : timeout_(options.timeout) {
  const auto channel = MakeChannel(options.server);
  memories_ = v1::MemoryService::NewStub(channel);
  unlearning_ = v1::UnlearningService::NewStub(channel);
}

absl::StatusOr<v1::CreateMemoryResponse> Client::CreateMemory(const v1::CreateMemoryRequest& request) {
  return Call(timeout_, memories_.get(), &v1::MemoryService::Stub::CreateMemory, request);
}

absl::StatusOr<v1::GetMemoryResponse> Client::GetMemory(const v1::GetMemoryRequest& request) {
  return Call(timeout_, memories_.get(), &v1::MemoryService::Stub::GetMemory, request);
}

absl::StatusOr<v1::DeleteMemoryResponse> Client::DeleteMemory(const v1::DeleteMemoryRequest& request) {
  return Call(timeout_, memories_.get(), &v1::MemoryService::Stub::DeleteMemory, request);
}

absl::StatusOr<v1::AddResponse> Client::Add(const v1::AddRequest& request) {
  return Call(timeout_, memories_.get(), &v1::MemoryService::Stub::Add, request);
}

absl::StatusOr<v1::EvictResponse> Client::Evict(const v1::EvictRequest& request) {
  return Call(timeout_, memories_.get(), &v1::MemoryService::Stub::Evict, request);
}

absl::StatusOr<v1::ReadResponse> Client::Read(const v1::ReadRequest& request) {
  return Call(timeout_, memories_.get(), &v1::MemoryService::Stub::Read, request);
}

absl::StatusOr<v1::DeleteResponse> Client::Delete(const v1::DeleteRequest& request) {
  return Call(timeout_, unlearning_.get(), &v1::UnlearningService::Stub::Delete, request);
}

absl::StatusOr<v1::PurgeResponse> Client::Purge(const v1::PurgeRequest& request) {
  return Call(timeout_, unlearning_.get(), &v1::UnlearningService::Stub::Purge, request);
}

absl::StatusOr<v1::CertifyResponse> Client::Certify(const v1::CertifyRequest& request) {
  return Call(timeout_, unlearning_.get(), &v1::UnlearningService::Stub::Certify, request);
}

absl::StatusOr<v1::GetCertificateResponse> Client::GetCertificate(const v1::GetCertificateRequest& request) {
  return Call(timeout_, unlearning_.get(), &v1::UnlearningService::Stub::GetCertificate, request);
}

absl::StatusOr<v1::GetErasureStatusResponse> Client::GetErasureStatus(
    const v1::GetErasureStatusRequest& request) {
  return Call(timeout_, unlearning_.get(), &v1::UnlearningService::Stub::GetErasureStatus, request);
}

absl::StatusOr<v1::ListSigningKeysResponse> Client::ListSigningKeys() {
  return Call(timeout_, unlearning_.get(), &v1::UnlearningService::Stub::ListSigningKeys,
              v1::ListSigningKeysRequest());
}

absl::StatusOr<std::vector<v1::Memory>> Client::ListMemories(v1::ListMemoriesRequest request) {
  std::vector<v1::Memory> memories;
  const auto fetch = [this](const v1::ListMemoriesRequest& page) {
    return Call(timeout_, memories_.get(), &v1::MemoryService::Stub::ListMemories, page);
  };
  EXPUNGE_RETURN_IF_ERROR(EachPage(&request, fetch, [&memories](v1::ListMemoriesResponse page) {
    for (auto& memory : *page.mutable_memories()) memories.push_back(std::move(memory));
    return absl::OkStatus();
  }));
  return memories;
}

absl::StatusOr<TokenListing> Client::ListTokens(v1::ListTokensRequest request) {
  TokenListing listing;
  const auto fetch = [this](const v1::ListTokensRequest& page) {
    return Call(timeout_, memories_.get(), &v1::MemoryService::Stub::ListTokens, page);
  };
  EXPUNGE_RETURN_IF_ERROR(EachPage(&request, fetch, [&listing](v1::ListTokensResponse page) {
    for (auto& token : *page.mutable_tokens()) listing.tokens.push_back(std::move(token));
    listing.state = page.state();
    return absl::OkStatus();
  }));
  return listing;
}

absl::Status Client::EachCertificate(v1::ListCertificatesRequest request,
                                     const std::function<absl::Status(v1::Certificate)>& take) {
  const auto fetch = [this](const v1::ListCertificatesRequest& page) {
    return Call(timeout_, unlearning_.get(), &v1::UnlearningService::Stub::ListCertificates, page);
  };
  return EachPage(&request, fetch, [&take](v1::ListCertificatesResponse page) {
    for (auto& certificate : *page.mutable_certificates()) {
      EXPUNGE_RETURN_IF_ERROR(take(std::move(certificate)));
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<v1::Certificate>> Client::ListCertificates(v1::ListCertificatesRequest request) {
  std::vector<v1::Certificate> certificates;
  EXPUNGE_RETURN_IF_ERROR(EachCertificate(std::move(request), [&certificates](v1::Certificate certificate) {
    certificates.push_back(std::move(certificate));
    return absl::OkStatus();
  }));
  return certificates;
}

absl::StatusOr<v1::GetLogProofResponse> Client::GetLogProof(const v1::GetLogProofRequest& request) {
  return Call(timeout_, unlearning_.get(), &v1::UnlearningService::Stub::GetLogProof, request);
}

absl::Status Client::WatchCertificates(
    const v1::WatchCertificatesRequest& request, absl::Duration patience,
    const std::function<absl::StatusOr<bool>(v1::WatchCertificatesResponse)>& take) {
  return CallStream(patience, unlearning_.get(), &v1::UnlearningService::Stub::WatchCertificates, request,
                    take);
}

absl::Status Client::ExportAudit(const v1::ExportAuditRequest& request, absl::Duration patience,
                                 const std::function<absl::StatusOr<bool>(v1::ExportAuditResponse)>& take) {
  return CallStream(patience, unlearning_.get(), &v1::UnlearningService::Stub::ExportAudit, request, take);
}

absl::Status Client::StreamRead(
    absl::Duration patience, const std::function<std::optional<v1::ReadRequest>()>& next,
    const std::function<absl::StatusOr<bool>(absl::StatusOr<v1::ReadResponse>)>& take) {
  uint64_t index = 0;
  const std::function<absl::StatusOr<bool>(v1::StreamReadResponse)> take_one =
      [&](v1::StreamReadResponse answer) -> absl::StatusOr<bool> {
    if (answer.index() != index++) return absl::InternalError("the service answers in another order");
    if (answer.has_response()) return take(std::move(*answer.mutable_response()));
    const absl::Status error = FromRich(answer.error());
    if (error.ok()) return absl::InternalError("the service gave an empty answer");
    return take(error);
  };
  return CallBothWays(patience, memories_.get(), &v1::MemoryService::Stub::StreamRead, next, take_one);
}

}  // namespace expunge::client
