// What every call of a client is made of: a channel, and a call under a deadline.
#ifndef EXPUNGE_CLIENT_CPP_CALL_H_
#define EXPUNGE_CLIENT_CPP_CALL_H_

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
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

// One call with requests and answers in a row: `next` gives the requests, until there are no more, in a
// thread of its own, and each answer is given to `take` as with CallStream, which ends the call. Nothing is
// sent after a request that CheckText refuses; what was sent before is answered first. `timeout`: for the
// whole stream. Returns: the errors of Client (client.h).
template <typename Stub, typename Request, typename Response>
absl::Status CallBothWays(
    absl::Duration timeout, Stub* stub,
    std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> (Stub::*method)(grpc::ClientContext*),
    const std::function<std::optional<Request>()>& next,
    const std::function<absl::StatusOr<bool>(Response)>& take) {
  grpc::ClientContext context;
  if (timeout != absl::InfiniteDuration()) context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  const auto both = std::invoke(method, stub, &context);
  absl::Status text;
  std::thread sender([&] {
    for (std::optional<Request> request = next(); request.has_value(); request = next()) {
      text = CheckText(*request);
      if (!text.ok() || !both->Write(*request)) break;
    }
    both->WritesDone();
  });
  absl::StatusOr<bool> go_on = true;
  Response response;
  while (go_on.ok() && *go_on && both->Read(&response)) {
    go_on = take(std::move(response));
    response.Clear();
  }
  const bool to_the_end = go_on.ok() && *go_on;
  if (!to_the_end) context.TryCancel();
  sender.join();
  while (!to_the_end && both->Read(&response)) {
  }
  const absl::Status end = FromGrpc(both->Finish());
  if (!to_the_end) return go_on.status();  // the end is a cancellation by us
  EXPUNGE_RETURN_IF_ERROR(end);
  return text;
}

}  // namespace expunge::client

#endif  // EXPUNGE_CLIENT_CPP_CALL_H_
