// A connection to an Expunge service: every call with a deadline, every error as an absl::Status.
//
// Plain text HTTP/2 to one address. Proxies from the environment are not used, so that a loopback address
// means this machine.
#ifndef EXPUNGE_CLIENT_CPP_CLIENT_H_
#define EXPUNGE_CLIENT_CPP_CLIENT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "expunge/v1/memory_service.grpc.pb.h"
#include "expunge/v1/unlearning_service.grpc.pb.h"

namespace expunge::client {

struct ClientOptions {
  std::string server = "127.0.0.1:7420";  // host:port
  absl::Duration timeout = absl::Seconds(60);
};

// Every token of one listing, and the state that the last page belongs to.
struct TokenListing {
  std::vector<v1::TokenInfo> tokens;
  v1::StateReference state;
};

// Threads: any number of calls at once. Nothing is sent before the first call.
// Returns, for every call: the errors of base/error.h as the service gave them (client/cpp/status.h),
// Unavailable if the service cannot be reached, DeadlineExceeded after `timeout`.
class Client {
 public:
  explicit Client(const ClientOptions& options);

  absl::StatusOr<v1::CreateMemoryResponse> CreateMemory(const v1::CreateMemoryRequest& request);
  absl::StatusOr<v1::GetMemoryResponse> GetMemory(const v1::GetMemoryRequest& request);
  absl::StatusOr<v1::DeleteMemoryResponse> DeleteMemory(const v1::DeleteMemoryRequest& request);
  absl::StatusOr<v1::AddResponse> Add(const v1::AddRequest& request);
  absl::StatusOr<v1::EvictResponse> Evict(const v1::EvictRequest& request);
  absl::StatusOr<v1::ReadResponse> Read(const v1::ReadRequest& request);
  absl::StatusOr<v1::DeleteResponse> Delete(const v1::DeleteRequest& request);
  absl::StatusOr<v1::PurgeResponse> Purge(const v1::PurgeRequest& request);
  absl::StatusOr<v1::CertifyResponse> Certify(const v1::CertifyRequest& request);
  absl::StatusOr<v1::GetCertificateResponse> GetCertificate(const v1::GetCertificateRequest& request);
  absl::StatusOr<v1::GetErasureStatusResponse> GetErasureStatus(const v1::GetErasureStatusRequest& request);
  absl::StatusOr<v1::ListSigningKeysResponse> ListSigningKeys();
  absl::StatusOr<v1::GetLogProofResponse> GetLogProof(const v1::GetLogProofRequest& request);

  // Gives every answer to `take`, which ends the stream with false, or with an error, which is then returned.
  // `patience`: for the whole stream.
  absl::Status WatchCertificates(
      const v1::WatchCertificatesRequest& request, absl::Duration patience,
      const std::function<absl::StatusOr<bool>(v1::WatchCertificatesResponse)>& take);
  absl::Status ExportAudit(const v1::ExportAuditRequest& request, absl::Duration patience,
                           const std::function<absl::StatusOr<bool>(v1::ExportAuditResponse)>& take);

  // Reads in a row, many on their way at once. `next` gives the requests, until there are no more; it is
  // called by another thread. Every answer or error is given to `take`, in the order of the requests, which
  // ends the stream as above. `patience`: for the whole stream. Returns also: Internal if the service answers
  // in another order.
  absl::Status StreamRead(absl::Duration patience,
                          const std::function<std::optional<v1::ReadRequest>()>& next,
                          const std::function<absl::StatusOr<bool>(absl::StatusOr<v1::ReadResponse>)>& take);

  // Follow the pages to the end, each page under its own deadline; `request` names page size and filters.
  // Returns also: Internal if the service repeats a page token.
  absl::StatusOr<std::vector<v1::Memory>> ListMemories(v1::ListMemoriesRequest request);
  absl::StatusOr<TokenListing> ListTokens(v1::ListTokensRequest request);
  absl::StatusOr<std::vector<v1::Certificate>> ListCertificates(v1::ListCertificatesRequest request);
  // The same, but each certificate is given to `take`, and no more than a page is held. Ends with the first
  // error of `take`, which is then returned.
  absl::Status EachCertificate(v1::ListCertificatesRequest request,
                               const std::function<absl::Status(v1::Certificate)>& take);

 private:
  absl::Duration timeout_;
  std::unique_ptr<v1::MemoryService::Stub> memories_;
  std::unique_ptr<v1::UnlearningService::Stub> unlearning_;
};

}  // namespace expunge::client

#endif  // EXPUNGE_CLIENT_CPP_CLIENT_H_
