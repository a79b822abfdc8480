#include "server/rpc/status.h"

#include <string>

#include "base/error.h"
#include "google/rpc/error_details.pb.h"

namespace expunge::rpc {

// absl's codes and gRPC's are the same numbers by the definition of both.
static_assert(static_cast<int>(absl::StatusCode::kInvalidArgument) == grpc::StatusCode::INVALID_ARGUMENT);
static_assert(static_cast<int>(absl::StatusCode::kUnauthenticated) == grpc::StatusCode::UNAUTHENTICATED);

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  if (!GetReason(status).has_value()) {
    return ToGrpcStatus(MakeError(Reason::kInternal, "", "internal error; the server's log has the details"));
  }
  const std::string message(status.message().data(), status.message().size());
  const std::string field = GetField(status);

  google::rpc::Status rich;
  rich.set_code(static_cast<int>(status.code()));
  rich.set_message(message);
  google::rpc::ErrorInfo info;
  const absl::string_view reason = ReasonName(*GetReason(status));
  info.set_reason(std::string(reason));
  info.set_domain(std::string(kErrorDomain));
  if (!field.empty()) {
    (*info.mutable_metadata())["field"] = field;
    google::rpc::BadRequest bad_request;
    auto* violation = bad_request.add_field_violations();
    violation->set_field(field);
    violation->set_description(message);
    rich.add_details()->PackFrom(info);
    rich.add_details()->PackFrom(bad_request);
  } else {
    rich.add_details()->PackFrom(info);
  }
  return {static_cast<grpc::StatusCode>(status.code()), message, rich.SerializeAsString()};
}

}  // namespace expunge::rpc
