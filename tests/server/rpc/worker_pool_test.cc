#include "server/rpc/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace expunge::rpc {
namespace {

// Holds threads of a pool until opened.
class Gate {
 public:
  void Wait() const { opened_.wait(); }
  void Open() { promise_.set_value(); }

 private:
  std::promise<void> promise_;
  std::shared_future<void> opened_ = promise_.get_future().share();
};

TEST(WorkerPoolTest, RefusesExactlyWhatExceedsThreadsAndQueue) {
  for (const size_t threads : {1U, 3U}) {
    for (const size_t queued : {1U, 5U}) {
      Gate gate;
      std::atomic<size_t> ran = 0;
      WorkerPool pool({threads, queued});
      size_t accepted = 0;
      for (size_t i = 0; i < 20; ++i) {
        const bool taken = pool.Submit(1, [&] {
          gate.Wait();
          ++ran;
        });
        accepted += taken ? 1 : 0;
        EXPECT_EQ(taken, i < threads + queued) << "task " << i;
      }
      gate.Open();
      pool.Join();
      EXPECT_EQ(ran, accepted);
      EXPECT_EQ(accepted, threads + queued);
    }
  }
}

TEST(WorkerPoolTest, APlaceIsFreeAgainWhenATaskEnds) {
  WorkerPool pool({1, 1});
  for (int i = 0; i < 1000; ++i) {
    std::promise<void> done;
    while (!pool.Submit(1, [&done] { done.set_value(); })) std::this_thread::yield();
    done.get_future().wait();
  }
}

TEST(WorkerPoolTest, BoundsTheBytesHeldButAlwaysTakesOneAlone) {
  Gate gate;
  WorkerPool pool({1, 10, 100});
  const auto wait = [&gate] { gate.Wait(); };
  EXPECT_TRUE(pool.Submit(1000, wait)) << "alone, whatever its size";
  EXPECT_FALSE(pool.Submit(1, wait));
  EXPECT_TRUE(pool.Submit(0, wait));
  gate.Open();
  pool.Join();

  Gate second_gate;
  WorkerPool second({1, 10, 100});
  const auto second_wait = [&second_gate] { second_gate.Wait(); };
  EXPECT_TRUE(second.Submit(60, second_wait));
  EXPECT_TRUE(second.Submit(40, second_wait));
  EXPECT_FALSE(second.Submit(1, second_wait));
  second_gate.Open();
}

TEST(WorkerPoolTest, JoinRunsEverythingAccepted) {
  std::atomic<int> ran = 0;
  WorkerPool pool({2, 1000});
  std::vector<std::thread> clients;
  std::atomic<int> accepted = 0;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        if (pool.Submit(1, [&ran] { ++ran; })) ++accepted;
      }
    });
  }
  for (auto& client : clients) client.join();
  pool.Join();
  EXPECT_EQ(ran, accepted);
  EXPECT_GT(ran, 0);
}

}  // namespace
}  // namespace expunge::rpc
