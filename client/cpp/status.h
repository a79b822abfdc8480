// What went wrong in a call, as the service or the transport said it.
//
// A failed call becomes an absl::Status that keeps where it came from (the service, or the way to it) and, in
// payloads, the reason and the field of google.rpc.ErrorInfo and google.rpc.BadRequest. Reasons that this
// client does not know yet are kept as text.
#ifndef EXPUNGE_CLIENT_CPP_STATUS_H_
#define EXPUNGE_CLIENT_CPP_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/rpc/status.pb.h"

namespace expunge::client {

enum class Origin {
  kLocal,      // no call was made
  kService,    // the service answered with an error
  kTransport,  // no answer came: not reachable, or the deadline passed on this side
};

// A failed call for people and programs.
struct CallError {
  std::string code;    // "NOT_FOUND"
  std::string reason;  // "TOKEN_UNKNOWN"; empty if the service gave none
  std::string field;   // "token_ids[0]"; empty if no field is at fault
  std::string message;
  Origin origin = Origin::kLocal;
};

// OK for an OK status. Never fails: details that do not parse are left out.
[[nodiscard]] absl::Status FromGrpc(const grpc::Status& status);
// Likewise, for an error that is part of an answer.
[[nodiscard]] absl::Status FromRich(const google::rpc::Status& status);

// kLocal for a status that FromGrpc did not make.
[[nodiscard]] Origin GetOrigin(const absl::Status& status);

// The parts of `status`, from whatever origin. REQUIRES: !status.ok().
[[nodiscard]] CallError Explain(const absl::Status& status);

// "NOT_FOUND (TOKEN_UNKNOWN, field token_ids[0]): message".
[[nodiscard]] std::string ToText(const CallError& error);

}  // namespace expunge::client

#endif  // EXPUNGE_CLIENT_CPP_STATUS_H_
