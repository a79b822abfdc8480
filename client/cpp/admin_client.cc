#include "client/cpp/admin_client.h"

#include "client/cpp/call.h"

namespace expunge::client {

AdminClient::AdminClient(const std::string& address, absl::Duration timeout)
    : timeout_(timeout), stub_(v1::AdminService::NewStub(MakeChannel(address))) {}

absl::StatusOr<v1::CreateBackupResponse> AdminClient::CreateBackup(const v1::CreateBackupRequest& request) {
  return Call(timeout_, stub_.get(), &v1::AdminService::Stub::CreateBackup, request);
}

absl::StatusOr<v1::GetServerStatusResponse> AdminClient::GetServerStatus() {
  return Call(timeout_, stub_.get(), &v1::AdminService::Stub::GetServerStatus, v1::GetServerStatusRequest());
}

absl::StatusOr<v1::RotateSigningKeyResponse> AdminClient::RotateSigningKey(
    const v1::RotateSigningKeyRequest& request) {
  return Call(timeout_, stub_.get(), &v1::AdminService::Stub::RotateSigningKey, request);
}

}  // namespace expunge::client
