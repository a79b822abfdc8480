#include "bench/exactness/runner.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/progress.h"

namespace expunge::bench {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);

// The work that the threads share.
class Work {
 public:
  Work(const Regime& regime, const std::vector<Stay>& stays, const RunOptions& options)
      : regime_(regime), stays_(stays), options_(options), running_(options.threads) {}

  // Takes cases until none is left.
  void Run() {
    Findings own;
    for (uint64_t i = next_++; i < options_.cases; i = next_++) {
      own.Merge(RunCase(regime_, options_.first + i, options_.seed, stays_));
      ++done_;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    findings_.Merge(std::move(own));
    --running_;
    finished_.notify_all();
  }

  // Shows progress until all threads have finished.
  void Wait() {
    Progress progress(ProgressMode::kAuto, regime_.name, options_.cases, stderr);
    std::unique_lock<std::mutex> lock(mutex_);
    while (!finished_.wait_for(lock, kRedraw, [this] { return running_ == 0; })) progress.Show(done_);
    progress.Show(done_);
  }

  Findings TakeFindings() { return std::move(findings_); }

 private:
  const Regime& regime_;
  const std::vector<Stay>& stays_;
  const RunOptions options_;
  std::atomic<uint64_t> next_ = 0;
  std::atomic<uint64_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable finished_;
  size_t running_;     // guarded by mutex_
  Findings findings_;  // guarded by mutex_
};

}  // namespace

Findings RunCases(const Regime& regime, const std::vector<Stay>& stays, const RunOptions& options) {
  Work work(regime, stays, options);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < options.threads; ++t) threads.emplace_back([&work] { work.Run(); });
  work.Wait();
  for (std::thread& thread : threads) thread.join();
  return work.TakeFindings();
}

}  // namespace expunge::bench
