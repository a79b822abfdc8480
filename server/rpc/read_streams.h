// Reads in a row, many on their way at once: requests and answers flow in one call.
//
// A stream takes the next request only while there is room: while less than kInFlight requests are between
// arrival and the end of their answers' way into gRPC, and those that wait have less than kHeldBytes. What
// waits is answered as one group, a task of the readers' pool like any read; the next group is begun when
// less than kHeldBytes of answers wait for their reader. So a slow reader holds bounded memory (one group's
// answers, and less than kHeldBytes and a message each way) and no thread.
//
// Invariants.  (1) At most one read, one write and one task of a stream are under way. (2) Answers leave in
// the order of the requests, one each. (3) gRPC is called by one thread at a time, and not after Finish.
//
// A stream ends: when its client has ended its side and every request is answered; when its deadline has
// passed or its client has gone; with kShuttingDown when the server stops, after the answers of the group
// that is at work. If their reader takes them no more, the call is cut off when the time to drain is over.
#ifndef EXPUNGE_SERVER_RPC_READ_STREAMS_H_
#define EXPUNGE_SERVER_RPC_READ_STREAMS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/rpc/open_calls.h"
#include "server/rpc/worker_pool.h"

namespace expunge::rpc {

struct ReadStreamCall {
  grpc::CallbackServerContext* context;
  // Answers requests, encoded, the first of which has this number in the stream: at least one of them, in
  // their order. Runs in a task; throws nothing.
  std::function<std::vector<grpc::ByteBuffer>(uint64_t first, absl::Span<const grpc::ByteBuffer> requests)>
      answer;
  // The answer to a request that was not looked at for this error.
  std::function<grpc::ByteBuffer(uint64_t index, const absl::Status&)> refuse;
  // Called once, when the call is over: how it ended. Then nothing is asked of this struct any more.
  std::function<void(const absl::Status&)> finished;
};

// Threads: any number at once.
class ReadStreams {
 public:
  static constexpr size_t kInFlight = 64;
  static constexpr uint64_t kHeldBytes = uint64_t{1} << 20;

  // `pool` outlives it.
  ReadStreams(WorkerPool* pool, size_t max_open);
  ~ReadStreams();  // as Join
  ReadStreams(const ReadStreams&) = delete;
  ReadStreams& operator=(const ReadStreams&) = delete;

  using Reactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

  // Takes the call up; or refuses it with kOverloaded, or kShuttingDown after EndAll. The reactor owns
  // itself.
  [[nodiscard]] Reactor* Open(ReadStreamCall call);
  // A stream that ends at once, with this error.
  [[nodiscard]] static Reactor* Refuse(const absl::Status& status, const ReadStreamCall& call);

  // Ends every stream with kShuttingDown, those that come later too.
  void EndAll();

  // Returns when no stream is left. REQUIRES: EndAll was called, and gRPC has been shut down.
  void Join();

 private:
  class Call;

  WorkerPool& pool_;
  OpenCalls<Call> open_;
};

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_READ_STREAMS_H_
