// A fixed number of threads behind a bounded queue.
//
// Invariant.  Of the tasks accepted and not yet ended, at most `threads` run and at most `max_queued` wait;
// together they hold at most `max_bytes`, or are one alone. Beyond that a task is refused at once: a queue
// that only grows answers nobody in time, and holds memory meanwhile.
#ifndef EXPUNGE_SERVER_RPC_WORKER_POOL_H_
#define EXPUNGE_SERVER_RPC_WORKER_POOL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace expunge::rpc {

struct WorkerPoolOptions {
  size_t threads = 1;  // >= 1
  size_t max_queued = 1;
  uint64_t max_bytes = UINT64_MAX;
};

// Threads: any number may submit at once.
class WorkerPool {
 public:
  explicit WorkerPool(const WorkerPoolOptions& options);
  ~WorkerPool();  // as Join
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Runs `task` on one of the threads, after those submitted before it; `bytes` is what it keeps in memory
  // until it ends. False if it was refused; then `task` was not and will not be called. REQUIRES: `task`
  // throws nothing; not called after Join.
  [[nodiscard]] bool Submit(uint64_t bytes, std::function<void()> task);

  // Returns when every task accepted has ended. Idempotent.
  void Join();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_WORKER_POOL_H_
