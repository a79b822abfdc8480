#include "server/rpc/read_streams.h"

#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "server/rpc/status.h"

namespace expunge::rpc {
namespace {

class RefusedReads final : public ReadStreams::Reactor {
 public:
  explicit RefusedReads(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

uint64_t BytesOf(absl::Span<const grpc::ByteBuffer> messages) {
  uint64_t bytes = 0;
  for (const grpc::ByteBuffer& message : messages) bytes += message.Length();
  return bytes;
}

// Messages in a row, and their bytes. A copy of a message shares its bytes.
class Messages {
 public:
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  [[nodiscard]] size_t size() const { return messages_.size(); }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

  void Push(const grpc::ByteBuffer& message) {
    bytes_ += message.Length();
    messages_.push_back(message);
  }
  void PushFront(const grpc::ByteBuffer& message) {
    bytes_ += message.Length();
    messages_.push_front(message);
  }
  grpc::ByteBuffer Pop() {
    const grpc::ByteBuffer message = messages_.front();
    messages_.pop_front();
    bytes_ -= message.Length();
    return message;
  }
  void Clear() {
    messages_.clear();
    bytes_ = 0;
  }

 private:
  std::deque<grpc::ByteBuffer> messages_;
  uint64_t bytes_ = 0;
};

}  // namespace

// One stream. Whoever works for it holds a reference: gRPC until OnDone, and each task.
class ReadStreams::Call final : public Reactor, public std::enable_shared_from_this<Call> {
 public:
  Call(ReadStreams* streams, ReadStreamCall call) : streams_(*streams), call_(std::move(call)) {}
  ~Call() override { streams_.open_.Leave(this); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  [[nodiscard]] const ReadStreamCall& call() const { return call_; }

  void Begin() {
    self_ = shared_from_this();
    GoOn();
  }

  // The stream is to end as soon as what is at work is answered.
  void End(const absl::Status& status) {
    {
      const std::lock_guard lock(mutex_);
      if (end_.ok()) end_ = status;
      waiting_.Clear();
    }
    GoOn();
  }

  void OnReadDone(bool ok) override {
    {
      const std::lock_guard lock(mutex_);
      reading_ = false;
      if (!ok) half_closed_ = true;
      if (ok && end_.ok()) waiting_.Push(incoming_);
      incoming_.Clear();
    }
    GoOn();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Abandon(/*write_failed=*/true);
    {
      const std::lock_guard lock(mutex_);
      writing_ = false;
      outgoing_.Clear();
    }
    GoOn();
  }

  void OnCancel() override { Abandon(/*write_failed=*/false); }

  void OnDone() override {
    const std::shared_ptr<Call> last = std::move(self_);  // perhaps the last reference
    absl::Status end;
    {
      const std::lock_guard lock(mutex_);
      end = end_;
    }
    call_.finished(end);
  }

 private:
  // What is to be done next, each by a call of gRPC or of the pool that must not be made under the lock.
  struct Steps {
    bool read = false;
    bool write = false;
    std::vector<grpc::ByteBuffer> group;
    std::optional<absl::Status> finish;

    [[nodiscard]] bool any() const { return read || write || !group.empty() || finish.has_value(); }
  };

  // Nobody listens any more.
  void Abandon(bool write_failed) {
    {
      const std::lock_guard lock(mutex_);
      if (write_failed) writing_ = false;
      if (end_.ok()) end_ = GoneStatus(*call_.context);
      gone_ = true;
      waiting_.Clear();
      answers_.Clear();
    }
    GoOn();
  }

  // Does whatever can be done. One thread at a time: another one leaves its part to it.
  void GoOn() {
    const std::shared_ptr<Call> held = shared_from_this();
    {
      const std::lock_guard lock(mutex_);
      again_ = true;
      if (std::exchange(going_on_, true)) return;
    }
    for (;;) {
      Steps steps;
      {
        const std::lock_guard lock(mutex_);
        if (!std::exchange(again_, false)) {
          going_on_ = false;
          return;
        }
        steps = NextSteps();
        again_ = again_ || steps.any();
      }
      if (steps.write) StartWrite(&outgoing_);
      if (steps.read) StartRead(&incoming_);
      if (!steps.group.empty()) Submit(std::move(steps.group));
      if (steps.finish.has_value()) Finish(ToGrpcStatus(*steps.finish));
    }
  }

  // REQUIRES: mutex_ held.
  Steps NextSteps() {
    Steps steps;
    if (finished_) return steps;
    if (!writing_ && !answers_.empty()) {
      outgoing_ = answers_.Pop();
      steps.write = writing_ = true;
    }
    if (!working_ && !waiting_.empty() && answers_.bytes() < kHeldBytes) {
      steps.group = TakeGroup();
      working_ = true;
    }
    const size_t in_flight = waiting_.size() + at_work_ + answers_.size() + (writing_ ? 1 : 0);
    if (!reading_ && !half_closed_ && end_.ok() && in_flight < kInFlight && waiting_.bytes() < kHeldBytes) {
      steps.read = reading_ = true;
    }
    const bool idle = !working_ && !writing_ && answers_.empty();
    if (idle && (!end_.ok() || (half_closed_ && waiting_.empty()))) {
      steps.finish = end_;
      finished_ = true;
    }
    return steps;
  }

  // REQUIRES: mutex_ held, something waits.
  std::vector<grpc::ByteBuffer> TakeGroup() {
    std::vector<grpc::ByteBuffer> group;
    uint64_t bytes = 0;
    while (!waiting_.empty() && (group.empty() || bytes < kHeldBytes)) {
      group.push_back(waiting_.Pop());
      bytes += group.back().Length();
    }
    at_work_ = group.size();
    return group;
  }

  void Submit(std::vector<grpc::ByteBuffer> group) {
    const auto shared = std::make_shared<const std::vector<grpc::ByteBuffer>>(std::move(group));
    const bool accepted =
        streams_.pool_.Submit(BytesOf(*shared), [self = shared_from_this(), shared] { self->Work(*shared); });
    if (accepted) return;
    const absl::Status overloaded =
        MakeError(Reason::kOverloaded, "", "too many requests wait; try again in a moment");
    std::vector<grpc::ByteBuffer> refused;
    for (size_t i = 0; i < shared->size(); ++i) refused.push_back(call_.refuse(next_ + i, overloaded));
    Answered(*shared, refused);
  }

  void Work(const std::vector<grpc::ByteBuffer>& group) {
    std::vector<grpc::ByteBuffer> answers;
    if (!call_.context->IsCancelled()) answers = call_.answer(next_, group);
    Answered(group, answers);
  }

  // What was not answered comes first in the next group.
  void Answered(const std::vector<grpc::ByteBuffer>& group, const std::vector<grpc::ByteBuffer>& answers) {
    {
      const std::lock_guard lock(mutex_);
      working_ = false;
      at_work_ = 0;
      next_ += answers.size();
      for (size_t i = group.size(); i > answers.size() && end_.ok(); --i) waiting_.PushFront(group[i - 1]);
      for (const grpc::ByteBuffer& answer : answers) {
        if (!gone_) answers_.Push(answer);
      }
    }
    GoOn();
  }

  ReadStreams& streams_;
  const ReadStreamCall call_;
  std::shared_ptr<Call> self_;  // until OnDone
  grpc::ByteBuffer incoming_;   // what is being read
  grpc::ByteBuffer outgoing_;   // what is being written
  uint64_t next_ = 0;           // the number of the first request that is not answered; the worker's
  std::mutex mutex_;
  bool going_on_ = false;  // guarded by mutex_, as all below
  bool again_ = false;
  bool reading_ = false;
  bool writing_ = false;
  bool working_ = false;
  bool half_closed_ = false;  // the client sends no more
  bool gone_ = false;         // the client takes no more
  bool finished_ = false;
  Messages waiting_;
  size_t at_work_ = 0;
  Messages answers_;
  absl::Status end_;  // not OK: the stream is to end with it
};

ReadStreams::ReadStreams(WorkerPool* pool, size_t max_open) : pool_(*pool), open_(max_open) {}

ReadStreams::~ReadStreams() { Join(); }

ReadStreams::Reactor* ReadStreams::Refuse(const absl::Status& status, const ReadStreamCall& call) {
  call.finished(status);
  return new RefusedReads(ToGrpcStatus(status));
}

ReadStreams::Reactor* ReadStreams::Open(ReadStreamCall call) {
  const auto stream = std::make_shared<Call>(this, std::move(call));
  const absl::Status entered = open_.Enter(stream.get());
  if (!entered.ok()) return Refuse(entered, stream->call());
  stream->Begin();
  return stream.get();
}

void ReadStreams::EndAll() { open_.EndAll(); }

void ReadStreams::Join() { open_.Join(); }

}  // namespace expunge::rpc
