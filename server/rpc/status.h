// The one conversion of errors for the wire: absl::Status -> grpc::Status with google.rpc.Status in the
// binary details (trailing metadata "grpc-status-details-bin").
//
// Details: always google.rpc.ErrorInfo {reason, domain "expunge.v1", metadata {"field"} where a field is at
// fault}; and with a field also google.rpc.BadRequest with that field and the message. docs/formats/errors.md
// lists the reasons.
#ifndef EXPUNGE_SERVER_RPC_STATUS_H_
#define EXPUNGE_SERVER_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/rpc/status.pb.h"

namespace expunge::rpc {

inline constexpr absl::string_view kErrorDomain = "expunge.v1";

// Never UNKNOWN: an error without a reason of base/error.h is a defect and becomes INTERNAL with a fixed
// message, so that nothing that was not written for callers reaches them. The caller of this function logs
// the original. Cost: O(message). Threads: any number at once.
[[nodiscard]] grpc::Status ToGrpcStatus(const absl::Status& status);
// The same, where an error is part of an answer. REQUIRES: !status.ok().
[[nodiscard]] google::rpc::Status ToRichStatus(const absl::Status& status);

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_STATUS_H_
