#include "server/rpc/dispatcher.h"

#include <chrono>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/error.h"
#include "server/rpc/catching.h"
#include "server/rpc/status.h"
#include "server/rpc/trace.h"

namespace expunge::rpc {
namespace {

constexpr uint64_t kQueuedMessages = 4;  // of full size that one lane may hold in memory

std::string TraceIdOf(const grpc::ServerContextBase& context) {
  const auto& metadata = context.client_metadata();
  const auto header = metadata.find("traceparent");
  if (header != metadata.end()) {
    auto id = ParseTraceParent({header->second.data(), header->second.size()});
    if (id.has_value()) return *std::move(id);
  }
  return RandomTraceId();
}

absl::Status CheckStillWanted(const grpc::CallbackServerContext& context) {
  if (context.deadline() <= std::chrono::system_clock::now()) {
    return MakeError(Reason::kDeadlineExceeded, "",
                     "the deadline passed before work started; nothing was done");
  }
  if (context.IsCancelled()) {
    return MakeError(Reason::kCancelled, "", "the call was cancelled before work started; nothing was done");
  }
  return absl::OkStatus();
}

// Errors that need somebody to look at the server.
bool IsServerFault(const absl::Status& status) {
  const auto reason = GetReason(status);
  return !reason.has_value() || *reason == Reason::kInternal || *reason == Reason::kStorageFailed ||
         *reason == Reason::kStorageCorrupt || *reason == Reason::kBackupFailed;
}

WorkerPoolOptions PoolOptions(const DispatcherOptions& options) {
  return {options.worker_threads, options.max_queued, kQueuedMessages * options.max_message_bytes};
}

}  // namespace

struct Dispatcher::Call {
  absl::string_view method;
  std::string trace_id;
  absl::Time arrival;
};

absl::string_view TenantOf(absl::string_view name) {
  constexpr absl::string_view kPrefix = "tenants/";
  if (!absl::StartsWith(name, kPrefix)) return {};
  name.remove_prefix(kPrefix.size());
  return name.substr(0, name.find('/'));
}

Dispatcher::Dispatcher(core::Service* service, std::shared_ptr<Log> log, const DispatcherOptions& options)
    : service_(service),
      log_(std::move(log)),
      options_(options),
      readers_(PoolOptions(options)),
      writers_(PoolOptions(options)),
      streams_(options.stream_threads, options.max_streams) {}

void Dispatcher::RefuseNewCalls() {
  stopping_ = true;
  streams_.EndAll();
}

void Dispatcher::Join() {
  readers_.Join();
  writers_.Join();
  streams_.Join();
}

absl::Status Dispatcher::Admit(const Incoming& incoming) const {
  if (stopping_) return MakeError(Reason::kShuttingDown, "", "the server is stopping; try again in a moment");
  absl::Status allowed = Authorize(CallerOf(*incoming.context), "", options_.access);
  if (!allowed.ok()) return allowed;
  if (incoming.bytes > options_.max_message_bytes) {
    return MakeError(Reason::kMessageTooLarge, "",
                     absl::StrCat("the message has ", incoming.bytes, " bytes; the limit is ",
                                  options_.max_message_bytes, ": send fewer rows a call"));
  }
  return CheckStillWanted(*incoming.context);
}

grpc::ServerUnaryReactor* Dispatcher::Run(const Incoming& incoming, std::function<absl::Status()> work) {
  grpc::CallbackServerContext* const context = incoming.context;
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const auto finish = [this, reactor, call = Call{incoming.method.name, TraceIdOf(*context), absl::Now()}](
                          const absl::Status& status) {
    WriteLog(call, status);
    reactor->Finish(ToGrpcStatus(status));
  };
  const absl::Status admitted = Admit(incoming);
  if (!admitted.ok()) {
    finish(admitted);
    return reactor;
  }
  WorkerPool& pool = incoming.method.lane == Lane::kRead ? readers_ : writers_;
  const bool accepted = pool.Submit(incoming.bytes, [context, finish, work = std::move(work)] {
    absl::Status status = CheckStillWanted(*context);
    if (status.ok()) status = RunCatching(work);
    finish(status);
  });
  if (!accepted) finish(MakeError(Reason::kOverloaded, "", "too many requests wait; try again in a moment"));
  return reactor;
}

Streams::Reactor* Dispatcher::RunStream(const Incoming& incoming, StreamKind kind, Opener open) {
  StreamCall stream{kind, incoming.context, std::move(open),
                    [this, call = Call{incoming.method.name, TraceIdOf(*incoming.context), absl::Now()}](
                        const absl::Status& status) { WriteLog(call, status); }};
  const absl::Status admitted = Admit(incoming);
  if (!admitted.ok()) return Streams::Refuse(admitted, stream);
  return streams_.Open(std::move(stream));
}

void Dispatcher::WriteLog(const Call& call, const absl::Status& status) {
  const bool fault = !status.ok() && IsServerFault(status);
  const auto reason = GetReason(status);
  const std::string code = absl::StatusCodeToString(status.code());
  LogFields fields;
  fields.method = call.method;
  fields.code = code;
  if (!status.ok()) fields.reason = reason.has_value() ? ReasonName(*reason) : "NONE";
  fields.latency_us = absl::ToInt64Microseconds(absl::Now() - call.arrival);
  fields.trace_id = call.trace_id;
  const std::string message =
      status.ok() ? "served" : (fault ? absl::StrCat("failed: ", status.message()) : "refused");
  log_->Write(fault ? LogLevel::kError : LogLevel::kInfo, message, fields);
}

}  // namespace expunge::rpc
