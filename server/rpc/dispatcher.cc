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
      streams_(options.stream_threads, options.max_streams),
      read_streams_(&readers_, options.max_streams) {}

void Dispatcher::RefuseNewCalls() {
  stopping_ = true;
  streams_.EndAll();
  read_streams_.EndAll();
}

void Dispatcher::Join() {
  read_streams_.Join();  // they submit to the readers
  readers_.Join();
  writers_.Join();
  streams_.Join();
}

absl::Status Dispatcher::Admit(const Incoming& incoming) const {
  if (stopping_) return MakeError(Reason::kShuttingDown, "", "the server is stopping; try again in a moment");
  absl::Status allowed = Authorize(CallerOf(*incoming.context), "", options_.access);
  if (!allowed.ok()) return allowed;
  EXPUNGE_RETURN_IF_ERROR(CheckSize(incoming.bytes));
  return CheckStillWanted(*incoming.context);
}

absl::Status Dispatcher::CheckSize(uint64_t bytes) const {
  if (bytes <= options_.max_message_bytes) return absl::OkStatus();
  return MakeError(Reason::kMessageTooLarge, "",
                   absl::StrCat("the message has ", bytes, " bytes; the limit is ",
                                options_.max_message_bytes, ": send fewer rows a call"));
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

ReadStreams::Reactor* Dispatcher::ServeReads(absl::string_view method, grpc::CallbackServerContext* context) {
  const Call call{method, TraceIdOf(*context), absl::Now()};
  ReadStreamCall stream;
  stream.context = context;
  stream.answer = [this, call, context](uint64_t first, absl::Span<const grpc::ByteBuffer> messages) {
    return AnswerReads({call.method, call.trace_id, absl::Now()}, *context, first, messages);
  };
  stream.refuse = [this, call](uint64_t index, const absl::Status& status) {
    return EncodeRead({call.method, call.trace_id, absl::Now()}, index, status);
  };
  stream.finished = [this, call](const absl::Status& status) { WriteLog(call, status); };
  const absl::Status admitted = Admit({{method}, context, 0});
  if (!admitted.ok()) return ReadStreams::Refuse(admitted, stream);
  return read_streams_.Open(std::move(stream));
}

absl::StatusOr<v1::ReadRequest> Dispatcher::TakeRead(const grpc::CallbackServerContext& context,
                                                     const grpc::ByteBuffer& message) const {
  EXPUNGE_RETURN_IF_ERROR(CheckSize(message.Length()));
  v1::ReadRequest request;
  EXPUNGE_RETURN_IF_ERROR(Decode(message, &request));
  EXPUNGE_RETURN_IF_ERROR(Authorize(CallerOf(context), TenantOfRequest(request), options_.access));
  return request;
}

// If something is thrown, it concerns one request: the first is answered alone, and with it if it was that.
std::vector<absl::StatusOr<v1::ReadResponse>> Dispatcher::ReadTogether(
    absl::Span<const v1::ReadRequest> requests) {
  std::vector<absl::StatusOr<v1::ReadResponse>> answers;
  const auto read = [&](absl::Span<const v1::ReadRequest> some) {
    return RunCatching([&] {
      answers = service_->ReadGroup(some);
      return absl::OkStatus();
    });
  };
  absl::Status status = read(requests);
  if (!status.ok() && requests.size() > 1) status = read(requests.first(1));
  if (!status.ok()) answers.assign(1, status);
  return answers;
}

std::vector<grpc::ByteBuffer> Dispatcher::AnswerReads(const Call& call,
                                                      const grpc::CallbackServerContext& context,
                                                      uint64_t first,
                                                      absl::Span<const grpc::ByteBuffer> messages) {
  std::vector<absl::Status> taken;
  std::vector<v1::ReadRequest> requests;
  for (const grpc::ByteBuffer& message : messages) {
    absl::StatusOr<v1::ReadRequest> request = absl::InternalError("not decoded");
    taken.push_back(RunCatching([&] {
      request = TakeRead(context, message);
      return request.status();
    }));
    if (taken.back().ok()) requests.push_back(*std::move(request));
  }
  std::vector<absl::StatusOr<v1::ReadResponse>> read;
  if (!requests.empty()) read = ReadTogether(requests);
  std::vector<grpc::ByteBuffer> answers;
  auto next = read.begin();
  for (const absl::Status& status : taken) {
    if (!status.ok()) {
      answers.push_back(EncodeRead(call, first + answers.size(), status));
    } else if (next != read.end()) {
      answers.push_back(EncodeRead(call, first + answers.size(), std::move(*next++)));
    } else {
      break;  // these come again
    }
  }
  return answers;
}

grpc::ByteBuffer Dispatcher::EncodeRead(const Call& call, uint64_t index,
                                        absl::StatusOr<v1::ReadResponse> answer) {
  v1::StreamReadResponse response;
  response.set_index(index);
  const bool answered = answer.ok();
  if (answered) {
    *response.mutable_response() = *std::move(answer);
  } else {
    WriteLog(call, answer.status());
    *response.mutable_error() = ToRichStatus(answer.status());
  }
  grpc::ByteBuffer bytes;
  const absl::Status encoded = RunCatching([&] { return Encode(response, &bytes); });
  if (encoded.ok() || !answered) return bytes;
  return EncodeRead(call, index, encoded);
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
