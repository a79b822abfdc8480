// The way of every call through the transport: check, wait for a thread, work, encode, log, finish.
//
// A call is refused, in this order, when: the server stops; the caller may not (authorize.h); the message
// exceeds the limit; its deadline has passed or the client has gone; too many calls wait (worker_pool.h).
// Deadline and cancellation are looked at again when a thread takes the call up: from then on it runs to its
// end, so that a client that gives up leaves either a whole change or none.
//
// Readers and writers have separate threads and queues. Writers of one tenant wait for each other inside
// core; in a common pool they would occupy every thread, and readers would wait for them.
#ifndef EXPUNGE_SERVER_RPC_DISPATCHER_H_
#define EXPUNGE_SERVER_RPC_DISPATCHER_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/core/service.h"
#include "server/rpc/authorize.h"
#include "server/rpc/log.h"
#include "server/rpc/worker_pool.h"

namespace expunge::rpc {

enum class Lane { kRead, kChange };

struct Method {
  absl::string_view name;  // as logged; lives as long as the program
  Lane lane = Lane::kRead;
};

struct DispatcherOptions {
  size_t worker_threads = 1;  // of each lane
  size_t max_queued = 1;      // of each lane
  uint64_t max_message_bytes = 1;
  AccessPolicy access;
};

// "acme" of "tenants/acme/..."; empty if `name` does not begin so.
[[nodiscard]] absl::string_view TenantOf(absl::string_view name);

// Threads: any number at once.
class Dispatcher {
 public:
  // `service` must outlive Join.
  Dispatcher(core::Service* service, std::shared_ptr<Log> log, const DispatcherOptions& options);

  // Serves one unary call with a function of the service. `request` and `response` live until the call is
  // done.
  template <class Request, class Response>
  grpc::ServerUnaryReactor* Serve(const Method& method, grpc::CallbackServerContext* context,
                                  const Request* request, Response* response,
                                  absl::StatusOr<Response> (core::Service::*function)(const Request&)) {
    Incoming incoming{method, context, {}, request->ByteSizeLong()};
    if constexpr (requires { request->parent(); }) {
      incoming.tenant = TenantOf({request->parent().data(), request->parent().size()});
    } else if constexpr (requires { request->name(); }) {
      incoming.tenant = TenantOf({request->name().data(), request->name().size()});
    }
    return Run(incoming, [this, request, response, function] {
      absl::StatusOr<Response> result = (service_->*function)(*request);
      if (!result.ok()) return result.status();
      *response = *std::move(result);
      return absl::OkStatus();
    });
  }

  // From now on new calls are refused with kShuttingDown; those accepted go on.
  void RefuseNewCalls() { stopping_ = true; }

  // Returns when every accepted call has finished. REQUIRES: no call arrives any more.
  void Join();

 private:
  struct Incoming {
    Method method;
    grpc::CallbackServerContext* context;
    absl::string_view tenant;
    uint64_t bytes;
  };
  struct Call;

  grpc::ServerUnaryReactor* Run(const Incoming& incoming, std::function<absl::Status()> work);
  [[nodiscard]] absl::Status Admit(const Incoming& incoming) const;
  void Finish(const Call& call, const absl::Status& status);

  core::Service* const service_;
  const std::shared_ptr<Log> log_;
  const DispatcherOptions options_;
  std::atomic<bool> stopping_ = false;
  WorkerPool readers_;
  WorkerPool writers_;
};

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_DISPATCHER_H_
