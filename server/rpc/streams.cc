#include "server/rpc/streams.h"

#include <chrono>
#include <utility>
#include <vector>

#include "base/error.h"
#include "server/rpc/catching.h"
#include "server/rpc/status.h"

namespace expunge::rpc {
namespace {

absl::Status ShuttingDown() {
  return MakeError(Reason::kShuttingDown, "", "the server is stopping; try again in a moment");
}

// The client's deadline began when it sent the call, ours when it came: its own ends first, as a
// cancellation.
constexpr std::chrono::milliseconds kOnItsWay{100};

// Why a call whose client does not listen any more has ended.
absl::Status GoneStatus(const grpc::CallbackServerContext& context) {
  if (context.deadline() <= std::chrono::system_clock::now() + kOnItsWay) {
    return MakeError(Reason::kDeadlineExceeded, "", "the deadline passed before the stream's end");
  }
  return MakeError(Reason::kCancelled, "", "the call was cancelled before the stream's end");
}

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
    streams_.Leave(this);
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
    : max_open_(max_open), pool_({threads, kStreamKinds * max_open + threads, UINT64_MAX}) {}

Streams::~Streams() { Join(); }

Streams::Reactor* Streams::Refuse(const absl::Status& status, const StreamCall& call) {
  call.finished(status);
  return new RefusedStream(ToGrpcStatus(status));
}

absl::Status Streams::Enter(Call* call) {
  const std::lock_guard lock(mutex_);
  open_.insert(call);
  size_t& count = count_[static_cast<size_t>(call->call().kind)];
  ++count;
  if (ending_) return ShuttingDown();
  if (count <= max_open_) return absl::OkStatus();
  return MakeError(Reason::kOverloaded, "", "too many streams are open; try again in a moment");
}

void Streams::Leave(Call* call) {
  const std::lock_guard lock(mutex_);
  open_.erase(call);
  --count_[static_cast<size_t>(call->call().kind)];
  left_.notify_all();
}

Streams::Reactor* Streams::Open(StreamCall call) {
  const auto stream = std::make_shared<Call>(this, std::move(call));
  const absl::Status entered = Enter(stream.get());
  if (!entered.ok()) return Refuse(entered, stream->call());
  stream->Begin();
  return stream.get();
}

void Streams::EndAll() {
  std::vector<std::shared_ptr<Call>> open;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (Call* call : open_) {
      if (auto held = call->weak_from_this().lock()) open.push_back(std::move(held));
    }
  }
  for (const auto& call : open) call->End(ShuttingDown());
}

void Streams::Join() {
  {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [this] { return open_.empty(); });
  }
  pool_.Join();
}

}  // namespace expunge::rpc
