#include "server/rpc/streams.h"

#include <mutex>
#include <utility>

#include "base/error.h"
#include "server/rpc/catching.h"
#include "server/rpc/status.h"

namespace expunge::rpc {
namespace {

class RefusedStream final : public Streams::Reactor {
 public:
  explicit RefusedStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

// One stream. Whoever works for it holds a reference: gRPC until OnDone, and each task.
class Streams::Call final : public Reactor, public std::enable_shared_from_this<Call> {
 public:
  Call(Streams* streams, StreamCall call) : streams_(*streams), call_(std::move(call)) {}
  ~Call() override {
    source_.reset();
    streams_.OfKind(call_.kind).Leave(this);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  [[nodiscard]] const StreamCall& call() const { return call_; }

  void Begin() {
    self_ = shared_from_this();
    Submit();
  }

  // The stream is to end as soon as it can.
  void End(const absl::Status& status) {
    {
      const std::lock_guard lock(mutex_);
      if (end_.ok()) end_ = status;
      if (phase_ != Phase::kWaiting) return;
      phase_ = Phase::kFinished;
    }
    FinishWith(status);
  }

  void OnWriteDone(bool ok) override {
    {
      const std::lock_guard lock(mutex_);
      phase_ = ok ? Phase::kWorking : Phase::kFinished;
    }
    if (ok) {
      Submit();
    } else {
      FinishWith(GoneStatus(*call_.context));
    }
  }

  void OnCancel() override { End(GoneStatus(*call_.context)); }

  void OnDone() override {
    const std::shared_ptr<Call> last = std::move(self_);  // perhaps the last reference
  }

 private:
  enum class Phase { kWorking, kWriting, kArming, kWaiting, kFinished };

  void Submit() {
    const bool accepted = streams_.pool_.Submit(0, [self = shared_from_this()] { self->Work(); });
    if (!accepted) FinishWith(MakeError(Reason::kOverloaded, "", "too many streams are at work"));
  }

  void Work() {
    absl::Status end;
    {
      const std::lock_guard lock(mutex_);
      end = end_;
    }
    if (end.ok() && call_.context->IsCancelled()) end = GoneStatus(*call_.context);
    core::StreamStep step = core::StreamStep::kEnd;
    if (end.ok()) end = RunCatching([&] { return Step(&step); });
    if (!end.ok() || step == core::StreamStep::kEnd) {
      FinishWith(end);
    } else if (step == core::StreamStep::kAnswer) {
      Write();
    } else if (step == core::StreamStep::kAgain) {
      Submit();
    } else {
      Wait();
    }
  }

  absl::Status Step(core::StreamStep* step) {
    if (source_ == nullptr) {
      absl::StatusOr<std::unique_ptr<MessageSource>> opened = call_.open();
      if (!opened.ok()) return opened.status();
      source_ = *std::move(opened);
    }
    message_.Clear();
    const absl::StatusOr<core::StreamStep> made = source_->Next(&message_);
    if (made.ok()) *step = *made;
    return made.status();
  }

  void Write() {
    {
      const std::lock_guard lock(mutex_);
      phase_ = Phase::kWriting;
    }
    StartWrite(&message_);
  }

  // The source is used by one thread at a time: a wake that comes while Await runs is acted upon after it.
  void Wait() {
    {
      const std::lock_guard lock(mutex_);
      phase_ = Phase::kArming;
      woken_ = false;
    }
    source_->Await([weak = weak_from_this()] {
      if (const std::shared_ptr<Call> self = weak.lock()) self->Wake();
    });
    {
      const std::lock_guard lock(mutex_);
      const bool go_on = woken_ || !end_.ok();
      phase_ = go_on ? Phase::kWorking : Phase::kWaiting;
      if (!go_on) return;
    }
    Submit();
  }

  void Wake() {
    {
      const std::lock_guard lock(mutex_);
      woken_ = true;
      if (phase_ != Phase::kWaiting) return;
      phase_ = Phase::kWorking;
    }
    Submit();
  }

  // REQUIRES: no task and no write is under way, and it was not called before.
  void FinishWith(const absl::Status& status) {
    {
      const std::lock_guard lock(mutex_);
      phase_ = Phase::kFinished;
    }
    call_.finished(status);
    Finish(ToGrpcStatus(status));
  }

  Streams& streams_;
  const StreamCall call_;
  std::shared_ptr<Call> self_;  // until OnDone
  std::unique_ptr<MessageSource> source_;
  grpc::ByteBuffer message_;  // what is being written
  std::mutex mutex_;
  Phase phase_ = Phase::kWorking;  // guarded by mutex_
  bool woken_ = false;             // guarded by mutex_; since Await was called
  absl::Status end_;               // guarded by mutex_; not OK: the stream is to end with it
};

// Each stream has one task at most: the pool never refuses one.
Streams::Streams(size_t threads, size_t max_open)
    : open_{OpenCalls<Call>(max_open), OpenCalls<Call>(max_open)},
      pool_({threads, kStreamKinds * max_open + threads, UINT64_MAX}) {}

Streams::~Streams() { Join(); }

Streams::Reactor* Streams::Refuse(const absl::Status& status, const StreamCall& call) {
  call.finished(status);
  return new RefusedStream(ToGrpcStatus(status));
}

Streams::Reactor* Streams::Open(StreamCall call) {
  const auto stream = std::make_shared<Call>(this, std::move(call));
  const absl::Status entered = OfKind(stream->call().kind).Enter(stream.get());
  if (!entered.ok()) return Refuse(entered, stream->call());
  stream->Begin();
  return stream.get();
}

void Streams::EndAll() {
  for (OpenCalls<Call>& kind : open_) kind.EndAll();
}

void Streams::Join() {
  for (OpenCalls<Call>& kind : open_) kind.Join();
  pool_.Join();
}

}  // namespace expunge::rpc
