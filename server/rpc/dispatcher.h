// The way of every call through the transport: check, wait for a thread, decode, work, encode, log, finish.
//
// A call is refused, in this order, when: the server stops; the caller may not (authorize.h); the message
// exceeds the limit; its deadline has passed or the client has gone; too many calls wait (worker_pool.h).
// Deadline and cancellation are looked at again when a thread takes the call up: from then on it runs to its
// end, so that a client that gives up leaves either a whole change or none.
//
// Messages wait as bytes, and a thread decodes its own (codec.h). Calls with many answers go the same way,
// but for the threads (streams.h). Of reads in a row (read_streams.h) each message goes the way of a call by
// itself, but for the end: what it is refused with is its answer.
#ifndef EXPUNGE_SERVER_RPC_DISPATCHER_H_
#define EXPUNGE_SERVER_RPC_DISPATCHER_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "server/core/answer_stream.h"
#include "server/core/service.h"
#include "server/rpc/authorize.h"
#include "server/rpc/codec.h"
#include "server/rpc/log.h"
#include "server/rpc/read_streams.h"
#include "server/rpc/streams.h"
#include "server/rpc/worker_pool.h"

namespace expunge::rpc {

enum class Lane { kRead, kChange };  // of unary calls

struct Method {
  absl::string_view name;  // as logged; lives as long as the program
  Lane lane = Lane::kRead;
};

struct StreamMethod {
  absl::string_view name;  // as logged; lives as long as the program
  StreamKind kind = StreamKind::kExport;
};

struct DispatcherOptions {
  size_t worker_threads = 1;  // of each lane
  size_t max_queued = 1;      // of each lane
  uint64_t max_message_bytes = 1;
  size_t stream_threads = 1;
  size_t max_streams = 1;  // open at once, of each kind; reads in a row are one
  AccessPolicy access;
};

// "acme" of "tenants/acme/..."; empty if `name` does not begin so.
[[nodiscard]] absl::string_view TenantOf(absl::string_view name);

// Threads: any number at once.
class Dispatcher {
 public:
  // `service` must outlive Join.
  Dispatcher(core::Service* service, std::shared_ptr<Log> log, const DispatcherOptions& options);

  // Serves one unary call with a function of the service. `message` and `answer` live until the call is done.
  template <class Request, class Response>
  grpc::ServerUnaryReactor* Serve(const Method& method, grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* message, grpc::ByteBuffer* answer,
                                  absl::StatusOr<Response> (core::Service::*function)(const Request&)) {
    const Incoming incoming{method, context, message->Length()};
    return Run(incoming, [this, context, message, answer, function]() -> absl::Status {
      Request request;
      EXPUNGE_RETURN_IF_ERROR(Decode(*message, &request));
      EXPUNGE_RETURN_IF_ERROR(Authorize(CallerOf(*context), TenantOfRequest(request), options_.access));
      absl::StatusOr<Response> response = (service_->*function)(request);
      if (!response.ok()) return response.status();
      return Encode(*response, answer);
    });
  }

  // Serves one call with a stream of answers that a function of the service begins.
  template <class Request, class Response>
  Streams::Reactor* ServeStream(const StreamMethod& method, grpc::CallbackServerContext* context,
                                const grpc::ByteBuffer* message,
                                absl::StatusOr<std::unique_ptr<core::AnswerStream<Response>>> (
                                    core::Service::*function)(const Request&)) {
    const Incoming incoming{{method.name}, context, message->Length()};
    return RunStream(
        incoming, method.kind,
        [this, context, bytes = *message, function]() -> absl::StatusOr<std::unique_ptr<MessageSource>> {
          Request request;
          EXPUNGE_RETURN_IF_ERROR(Decode(bytes, &request));
          EXPUNGE_RETURN_IF_ERROR(Authorize(CallerOf(*context), TenantOfRequest(request), options_.access));
          auto answers = (service_->*function)(request);
          if (!answers.ok()) return answers.status();
          return std::make_unique<EncodedStream<Response>>(*std::move(answers));
        });
  }

  // Serves reads in a row.
  ReadStreams::Reactor* ServeReads(absl::string_view method, grpc::CallbackServerContext* context);

  // From now on new calls are refused with kShuttingDown; those accepted go on, but streams end.
  void RefuseNewCalls();

  // Returns when every accepted call has finished. REQUIRES: no call arrives any more.
  void Join();

 private:
  struct Incoming {
    Method method;
    grpc::CallbackServerContext* context;
    uint64_t bytes;
  };
  struct Call;
  using Opener = std::function<absl::StatusOr<std::unique_ptr<MessageSource>>()>;

  template <class Response>
  class EncodedStream final : public MessageSource {
   public:
    explicit EncodedStream(std::unique_ptr<core::AnswerStream<Response>> answers)
        : answers_(std::move(answers)) {}

    absl::StatusOr<core::StreamStep> Next(grpc::ByteBuffer* message) override {
      Response answer;
      EXPUNGE_ASSIGN_OR_RETURN(const core::StreamStep step, answers_->Next(&answer));
      if (step == core::StreamStep::kAnswer) EXPUNGE_RETURN_IF_ERROR(Encode(answer, message));
      return step;
    }

    void Await(std::function<void()> wake) override { answers_->Await(std::move(wake)); }

   private:
    const std::unique_ptr<core::AnswerStream<Response>> answers_;
  };

  template <class Request>
  static absl::string_view TenantOfRequest(const Request& request) {
    if constexpr (requires { request.parent(); }) {
      return TenantOf({request.parent().data(), request.parent().size()});
    } else if constexpr (requires { request.name(); }) {
      return TenantOf({request.name().data(), request.name().size()});
    } else {
      return {};
    }
  }

  grpc::ServerUnaryReactor* Run(const Incoming& incoming, std::function<absl::Status()> work);
  Streams::Reactor* RunStream(const Incoming& incoming, StreamKind kind, Opener open);
  [[nodiscard]] absl::Status Admit(const Incoming& incoming) const;
  [[nodiscard]] absl::Status CheckSize(uint64_t bytes) const;
  [[nodiscard]] absl::StatusOr<v1::ReadRequest> TakeRead(const grpc::CallbackServerContext& context,
                                                         const grpc::ByteBuffer& message) const;
  [[nodiscard]] std::vector<absl::StatusOr<v1::ReadResponse>> ReadTogether(
      absl::Span<const v1::ReadRequest> requests);
  std::vector<grpc::ByteBuffer> AnswerReads(const Call& call, const grpc::CallbackServerContext& context,
                                            uint64_t first, absl::Span<const grpc::ByteBuffer> messages);
  grpc::ByteBuffer EncodeRead(const Call& call, uint64_t index, absl::StatusOr<v1::ReadResponse> answer);
  void WriteLog(const Call& call, const absl::Status& status);

  core::Service* const service_;
  const std::shared_ptr<Log> log_;
  const DispatcherOptions options_;
  std::atomic<bool> stopping_ = false;
  WorkerPool readers_;
  WorkerPool writers_;
  Streams streams_;
  ReadStreams read_streams_;
};

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_DISPATCHER_H_
