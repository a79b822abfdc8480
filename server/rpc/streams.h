// Calls with many answers: one answer at a time, made when the one before is on its way.
//
// A stream never holds a thread while it waits, be it for its reader or for something to send: each answer is
// one short task of a small pool of their own. So slow readers and watchers cost memory alone, one answer
// each and what gRPC holds of the one before, and of each kind only so many streams are open at once.
//
// A stream ends: with the status of its source; when its deadline has passed or its client has gone; with
// kShuttingDown when the server stops, after the answer that is on its way. If its reader takes that answer
// no more, the call is cut off when the server's time to drain is over.
#ifndef EXPUNGE_SERVER_RPC_STREAMS_H_
#define EXPUNGE_SERVER_RPC_STREAMS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <array>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/answer_stream.h"
#include "server/rpc/open_calls.h"
#include "server/rpc/worker_pool.h"

namespace expunge::rpc {

enum class StreamKind { kExport, kWatch };
inline constexpr size_t kStreamKinds = 2;

// The answers of a stream, encoded.
using MessageSource = core::AnswerStream<grpc::ByteBuffer>;

struct StreamCall {
  StreamKind kind;
  grpc::CallbackServerContext* context;
  // Begins; runs as the stream's first task.
  std::function<absl::StatusOr<std::unique_ptr<MessageSource>>()> open;
  // Called once, with the status that the client gets; then the stream makes no answer any more.
  std::function<void(const absl::Status&)> finished;
};

// Threads: any number at once.
class Streams {
 public:
  // `max_open`: of each kind.
  Streams(size_t threads, size_t max_open);
  ~Streams();  // as Join
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  using Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;

  // Takes the call up; or refuses it with kOverloaded, or kShuttingDown after EndAll. The reactor owns
  // itself.
  [[nodiscard]] Reactor* Open(StreamCall call);
  // A stream that ends at once, with this error.
  [[nodiscard]] static Reactor* Refuse(const absl::Status& status, const StreamCall& call);

  // Ends every stream with kShuttingDown, those that come later too.
  void EndAll();

  // Returns when no stream is left. REQUIRES: EndAll was called, and gRPC has been shut down.
  void Join();

 private:
  class Call;

  [[nodiscard]] OpenCalls<Call>& OfKind(StreamKind kind) { return open_.at(static_cast<size_t>(kind)); }

  std::array<OpenCalls<Call>, kStreamKinds> open_;
  WorkerPool pool_;
};

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_STREAMS_H_
