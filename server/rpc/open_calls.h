// The calls with streams that are open: so many at most, all of which can be told to end.
#ifndef EXPUNGE_SERVER_RPC_OPEN_CALLS_H_
#define EXPUNGE_SERVER_RPC_OPEN_CALLS_H_

#include <grpcpp/server_context.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "base/error.h"

namespace expunge::rpc {

[[nodiscard]] inline absl::Status ShuttingDown() {
  return MakeError(Reason::kShuttingDown, "", "the server is stopping; try again in a moment");
}

// Why a call whose client does not listen any more has ended. The client's deadline began when it sent the
// call, ours when it came: its own ends first, as a cancellation.
[[nodiscard]] inline absl::Status GoneStatus(const grpc::CallbackServerContext& context) {
  constexpr std::chrono::milliseconds kOnItsWay{100};
  if (context.deadline() <= std::chrono::system_clock::now() + kOnItsWay) {
    return MakeError(Reason::kDeadlineExceeded, "", "the deadline passed before the stream's end");
  }
  return MakeError(Reason::kCancelled, "", "the call was cancelled before the stream's end");
}

// `Call`: has void End(const absl::Status&), and is held by shared pointers.
// Threads: any number at once.
template <class Call>
class OpenCalls {
 public:
  explicit OpenCalls(size_t max_open) : max_open_(max_open) {}

  // Every call enters, is refused if this fails, and leaves when it is destroyed.
  [[nodiscard]] absl::Status Enter(Call* call) {
    const std::lock_guard lock(mutex_);
    open_.insert(call);
    if (ending_) return ShuttingDown();
    if (open_.size() <= max_open_) return absl::OkStatus();
    return MakeError(Reason::kOverloaded, "", "too many streams are open; try again in a moment");
  }

  void Leave(Call* call) {
    const std::lock_guard lock(mutex_);
    open_.erase(call);
    left_.notify_all();
  }

  // Ends every call with kShuttingDown, those that come later too.
  void EndAll() {
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

  // Returns when no call is left.
  void Join() {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [this] { return open_.empty(); });
  }

 private:
  const size_t max_open_;
  std::mutex mutex_;
  std::condition_variable left_;
  bool ending_ = false;
  std::set<Call*> open_;
};

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_OPEN_CALLS_H_
