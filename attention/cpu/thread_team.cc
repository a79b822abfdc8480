#include "attention/cpu/thread_team.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <thread>

namespace expunge::attention::cpu {
namespace {

// One call. Helpers that come late find nothing left, and do not touch `piece`.
class Job {
 public:
  Job(size_t count, absl::FunctionRef<void(size_t)> piece) : count_(count), piece_(piece) {}

  void Work() {
    for (size_t i = next_.fetch_add(1); i < count_; i = next_.fetch_add(1)) {
      piece_(i);
      if (ended_.fetch_add(1) + 1 == count_) ended_.notify_one();
    }
  }

  void Wait() {
    for (size_t ended = ended_.load(); ended != count_; ended = ended_.load()) ended_.wait(ended);
  }

 private:
  const size_t count_;
  const absl::FunctionRef<void(size_t)> piece_;
  std::atomic<size_t> next_ = 0;
  std::atomic<size_t> ended_ = 0;
};

}  // namespace

struct ThreadTeam::Pool {
  explicit Pool(size_t helpers) : threads(helpers) {}
  ~Pool() { threads.join(); }
  boost::asio::thread_pool threads;
};

ThreadTeam::ThreadTeam(size_t threads)
    : threads_(threads > 0 ? threads : std::max<size_t>(1, std::thread::hardware_concurrency())) {
  if (threads_ > 1) pool_ = std::make_unique<Pool>(threads_ - 1);
}

ThreadTeam::~ThreadTeam() = default;

void ThreadTeam::ForEach(size_t count, absl::FunctionRef<void(size_t)> piece) {
  const size_t helpers = std::min(threads_, count) - std::min<size_t>(count, 1);
  if (helpers == 0) {
    for (size_t i = 0; i < count; ++i) piece(i);
    return;
  }
  const auto job = std::make_shared<Job>(count, piece);
  for (size_t i = 0; i < helpers; ++i) boost::asio::post(pool_->threads, [job] { job->Work(); });
  job->Work();
  job->Wait();
}

}  // namespace expunge::attention::cpu
