#include "server/rpc/status.h"

#include <string>

#include "base/error.h"
#include "google/rpc/error_details.pb.h"

namespace expunge::rpc {

// absl's codes and gRPC's are the same numbers by the definition of both.
static_assert(static_cast<int>(absl::StatusCode::kInvalidArgument) == grpc::StatusCode::INVALID_ARGUMENT);
static_assert(static_cast<int>(absl::StatusCode::kUnauthenticated) == grpc::StatusCode::UNAUTHENTICATED);

google::rpc::Status ToRichStatus(const absl::Status& status) {
  const auto reason = GetReason(status);
  if (!reason.has_value()) {
    return ToRichStatus(MakeError(Reason::kInternal, "", "internal error; the server's log has the details"));
  }
  const std::string message(status.message().data(), status.message().size());
  const std::string field = GetField(status);
  google::rpc::Status rich;
  rich.set_code(static_cast<int>(status.code()));
  rich.set_message(message);
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(ReasonName(*reason)));
  info.set_domain(std::string(kErrorDomain));
  if (!field.empty()) (*info.mutable_metadata())["field"] = field;
  rich.add_details()->PackFrom(info);
  if (field.empty()) return rich;
  google::rpc::BadRequest bad_request;
  auto* violation = bad_request.add_field_violations();
  violation->set_field(field);
  violation->set_description(message);
  rich.add_details()->PackFrom(bad_request);
  return rich;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status rich = ToRichStatus(status);
  return {static_cast<grpc::StatusCode>(rich.code()), rich.message(), rich.SerializeAsString()};
}

}  // namespace expunge::rpc
