// A connection to the administration of an Expunge service: as Client, on an address of its own.
#ifndef EXPUNGE_CLIENT_CPP_ADMIN_CLIENT_H_
#define EXPUNGE_CLIENT_CPP_ADMIN_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "expunge/v1/admin_service.grpc.pb.h"

namespace expunge::client {

// Threads: any number of calls at once. Nothing is sent before the first call.
// Returns, for every call: as Client.
class AdminClient {
 public:
  // `address`: "unix:PATH" or "host:port".
  AdminClient(const std::string& address, absl::Duration timeout);

  // DeadlineExceeded: the service may still be making it.
  absl::StatusOr<v1::CreateBackupResponse> CreateBackup(const v1::CreateBackupRequest& request);
  absl::StatusOr<v1::GetServerStatusResponse> GetServerStatus();
  absl::StatusOr<v1::RotateSigningKeyResponse> RotateSigningKey(const v1::RotateSigningKeyRequest& request);

 private:
  absl::Duration timeout_;
  std::unique_ptr<v1::AdminService::Stub> stub_;
};

}  // namespace expunge::client

#endif  // EXPUNGE_CLIENT_CPP_ADMIN_CLIENT_H_
