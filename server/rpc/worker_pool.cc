#include "server/rpc/worker_pool.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <mutex>
#include <utility>

namespace expunge::rpc {

struct WorkerPool::Impl {
  explicit Impl(const WorkerPoolOptions& limits) : options(limits), pool(limits.threads) {}

  bool Enter(uint64_t bytes) {
    const std::lock_guard lock(mutex);
    if (tasks >= options.threads + options.max_queued) return false;
    const uint64_t room = options.max_bytes - std::min(options.max_bytes, held_bytes);
    if (tasks > 0 && bytes > room) return false;
    ++tasks;
    held_bytes += bytes;
    return true;
  }

  void Leave(uint64_t bytes) {
    const std::lock_guard lock(mutex);
    --tasks;
    held_bytes -= bytes;
  }

  const WorkerPoolOptions options;
  boost::asio::thread_pool pool;
  std::mutex mutex;
  size_t tasks = 0;  // accepted and not yet ended
  uint64_t held_bytes = 0;
};

WorkerPool::WorkerPool(const WorkerPoolOptions& options) : impl_(std::make_unique<Impl>(options)) {}

WorkerPool::~WorkerPool() { Join(); }

bool WorkerPool::Submit(uint64_t bytes, std::function<void()> task) {
  if (!impl_->Enter(bytes)) return false;
  boost::asio::post(impl_->pool, [impl = impl_.get(), bytes, task = std::move(task)]() mutable {
    task();
    task = nullptr;  // what it holds is gone before its place is free
    impl->Leave(bytes);
  });
  return true;
}

void WorkerPool::Join() { impl_->pool.join(); }

}  // namespace expunge::rpc
