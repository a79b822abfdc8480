#include "attention/cpu/thread_team.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "hwy/cache_control.h"

namespace expunge::attention::cpu {
namespace {

// Waking a thread takes about as long: one that has just worked looks around for more before it sleeps.
constexpr std::chrono::microseconds kPatience(60);

// True as soon as `condition` is; false if it has not become so for a while.
template <typename Condition>
bool WaitAwake(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  do {
    for (int i = 0; i < 16; ++i) {
      if (condition()) return true;
      hwy::Pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

// One call. Helpers that come late find nothing left, and do not touch `piece`.
class Job {
 public:
  Job(size_t count, absl::FunctionRef<void(size_t)> piece) : count_(count), piece_(piece) {}

  void Work() noexcept {
    for (size_t i = next_.fetch_add(1); i < count_; i = next_.fetch_add(1)) {
      if (!failed_.load()) Call(i);
      if (ended_.fetch_add(1) + 1 == count_) ended_.notify_one();
    }
  }

  // Others are at their last pieces.
  void Wait() {
    if (WaitAwake([this] { return ended_.load() == count_; })) return;
    for (size_t ended = ended_.load(); ended != count_; ended = ended_.load()) ended_.wait(ended);
  }

  // What was thrown first, or null. REQUIRES: Wait has returned. Nothing of it stays here: helpers may keep
  // the job for a while.
  [[nodiscard]] std::exception_ptr TakeThrown() { return std::exchange(thrown_, nullptr); }

 private:
  void Call(size_t i) noexcept {
    try {
      piece_(i);
    } catch (...) {
      if (!failed_.exchange(true)) thrown_ = std::current_exception();
    }
  }

  const size_t count_;
  const absl::FunctionRef<void(size_t)> piece_;
  std::atomic<size_t> next_ = 0;
  std::atomic<size_t> ended_ = 0;
  std::atomic<bool> failed_ = false;
  std::exception_ptr thrown_;  // of who made failed_ true
};

}  // namespace

class ThreadTeam::Helpers {
 public:
  explicit Helpers(size_t count) : guard_(context_.get_executor()) {
    for (size_t i = 0; i < count; ++i) threads_.emplace_back([this] { Help(); });
  }

  ~Helpers() {
    guard_.reset();
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  // Nobody comes if there is no memory to call with.
  void Call(const std::shared_ptr<Job>& job) noexcept {
    calls_.fetch_add(1);
    try {
      boost::asio::post(context_, [this, job] {
        calls_.fetch_sub(1);
        job->Work();
      });
    } catch (...) {
      calls_.fetch_sub(1);
    }
  }

 private:
  void Help() {
    while (context_.run_one() > 0) {
      // Another helper may be quicker; nothing is run once the context has stopped.
      while (WaitAwake([this] { return calls_.load() > 0; }) && context_.poll_one() > 0) continue;
    }
  }

  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::atomic<size_t> calls_ = 0;  // that nobody has answered
  std::vector<std::thread> threads_;
};

ThreadTeam::ThreadTeam(size_t threads)
    : threads_(threads > 0 ? threads : std::max<size_t>(1, std::thread::hardware_concurrency())) {
  if (threads_ > 1) helpers_ = std::make_unique<Helpers>(threads_ - 1);
}

ThreadTeam::~ThreadTeam() = default;

void ThreadTeam::ForEach(size_t count, size_t threads, absl::FunctionRef<void(size_t)> piece) {
  const size_t workers = std::min({threads, threads_, count});
  if (workers <= 1) {
    for (size_t i = 0; i < count; ++i) piece(i);
    return;
  }
  const auto job = std::make_shared<Job>(count, piece);
  for (size_t i = 0; i + 1 < workers; ++i) helpers_->Call(job);
  job->Work();
  job->Wait();
  if (std::exception_ptr thrown = job->TakeThrown()) std::rethrow_exception(std::move(thrown));
}

}  // namespace expunge::attention::cpu
