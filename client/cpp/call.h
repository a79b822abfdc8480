// What every call of a client is made of: a channel, and a unary call under a deadline.
#ifndef EXPUNGE_CLIENT_CPP_CALL_H_
#define EXPUNGE_CLIENT_CPP_CALL_H_

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "client/cpp/status.h"

namespace expunge::client {

// A channel of its own in plain text to "host:port" or "unix:PATH", past all proxies. Whatever is in PATH is
// meant as it is.
[[nodiscard]] std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address);

// kNameMalformed, with the field, for text that is not UTF-8, which the service could not even read.
[[nodiscard]] absl::Status CheckText(const google::protobuf::Message& message);

// One unary call. Returns: the errors of Client (client.h).
template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> Call(absl::Duration timeout, Stub* stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                              const Request& request) {
  EXPUNGE_RETURN_IF_ERROR(CheckText(request));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  Response response;
  EXPUNGE_RETURN_IF_ERROR(FromGrpc(std::invoke(method, stub, &context, request, &response)));
  return response;
}

}  // namespace expunge::client

#endif  // EXPUNGE_CLIENT_CPP_CALL_H_
