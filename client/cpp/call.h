// What every call of a client is made of: a channel, and a call under a deadline.
#ifndef EXPUNGE_CLIENT_CPP_CALL_H_
#define EXPUNGE_CLIENT_CPP_CALL_H_

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

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

// One call with a stream of answers, each given to `take` as it comes, until the service ends the stream or
// `take` returns false, or an error, which is then returned. `timeout`: for the whole stream; infinite: none.
// Returns: the errors of Client (client.h).
template <typename Stub, typename Request, typename Response>
absl::Status CallStream(absl::Duration timeout, Stub* stub,
                        std::unique_ptr<grpc::ClientReader<Response>> (Stub::*method)(grpc::ClientContext*,
                                                                                      const Request&),
                        const Request& request, const std::function<absl::StatusOr<bool>(Response)>& take) {
  EXPUNGE_RETURN_IF_ERROR(CheckText(request));
  grpc::ClientContext context;
  if (timeout != absl::InfiniteDuration()) context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  const auto reader = std::invoke(method, stub, &context, request);
  absl::StatusOr<bool> go_on = true;
  Response response;
  while (go_on.ok() && *go_on && reader->Read(&response)) {
    go_on = take(std::move(response));
    response.Clear();
  }
  if (go_on.ok() && *go_on) return FromGrpc(reader->Finish());
  context.TryCancel();
  while (reader->Read(&response)) {
  }
  static_cast<void>(reader->Finish());  // cancelled by us
  return go_on.status();
}

}  // namespace expunge::client

#endif  // EXPUNGE_CLIENT_CPP_CALL_H_
