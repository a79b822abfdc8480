#include "attention/combiner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "attention/cpu/cpu_engine.h"
#include "solver/reference_solver.h"
#include "tests/support/data.h"

namespace expunge::attention {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr size_t kDimension = 3;
constexpr uint64_t kSeed = 20261130;

std::shared_ptr<const SupportSet> MakeSupport(int tokens, uint64_t seed) {
  solver::Config config;
  config.key_dimension = kDimension;
  config.value_dimension = 2;
  config.gamma = 0.5;
  config.box.min_support = 4;
  const auto list = testing::MakeTokens(testing::DataKind::kGaussian, tokens, kDimension, 2, seed);
  auto solution = solver::SolveFromNothing(config, list);
  EXPECT_TRUE(solution.ok());
  return std::make_shared<const SupportSet>(solver::MemoryState{config, list, *std::move(solution)});
}

std::vector<double> MakeQueries(size_t count, uint64_t seed) {
  std::mt19937_64 bits(seed);
  std::vector<double> queries(count * kDimension);
  for (double& x : queries) x = static_cast<double>(bits() >> 11) * 0x1p-51 - 2;
  return queries;
}

// The real engine behind a door: which calls come, in which order, and how long they take, is the test's.
class DoorEngine final : public ReadoutEngine {
 public:
  void Read(absl::Span<const ReadoutTask> tasks, absl::Span<Readouts> answers) override {
    {
      std::unique_lock lock(mutex_);
      calls_.push_back(tasks.size());
      for (const ReadoutTask& task : tasks) order_.push_back(Mark(task));
      changed_.notify_all();
      const size_t own = calls_.size();
      changed_.wait(lock, [this, own] { return open_ || own > held_calls_; });
    }
    for (const ReadoutTask& task : tasks) {
      if (task.with_contributions) throw std::runtime_error("made by the test");
    }
    engine_.Read(tasks, answers);
  }
  void Publish(const std::shared_ptr<const SupportSet>& /*previous*/,
               const std::shared_ptr<const SupportSet>& /*next*/) noexcept override {}
  [[nodiscard]] EngineStatus Status() const override { return engine_.Status(); }

  // The first calls, so many, stay inside until Open.
  void Hold(size_t calls) { held_calls_ = calls; }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void WaitForCalls(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, seconds(20), [&] { return calls_.size() >= count; }));
  }
  std::vector<size_t> calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  std::vector<double> order() {
    const std::lock_guard lock(mutex_);
    return order_;
  }

 private:
  static double Mark(const ReadoutTask& task) {
    return std::get<absl::Span<const double>>(task.queries).front();
  }

  CpuEngine engine_{1};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  std::atomic<size_t> held_calls_ = 0;
  std::vector<size_t> calls_;  // tasks of each
  std::vector<double> order_;  // the first element of each task's first query
};

class CombinerTest : public ::testing::Test {
 protected:
  ~CombinerTest() override {
    engine_.Open();
    for (std::thread& thread : threads_) thread.join();
  }

  void Make(const CombinerOptions& options) {
    combiner_ = std::make_unique<ReadoutCombiner>(&engine_, options);
  }

  // One read of `count` queries, the first of which begins with `mark`.
  void Read(double mark, size_t count = 1, bool throws = false) {
    std::vector<double> queries = MakeQueries(count, kSeed);
    queries[0] = mark;
    ReadoutTask task;
    task.support = support_;
    task.queries = absl::MakeConstSpan(queries);
    task.with_contributions = throws;
    Readouts answer;
    combiner_->Read(absl::MakeConstSpan(&task, 1), absl::MakeSpan(&answer, 1));
    const auto& outputs = std::get<SecretArray<double>>(answer.outputs);
    ASSERT_EQ(outputs.size(), 2 * count);
    const auto first = absl::MakeConstSpan(queries).first(kDimension);
    const CertifiedReadout expected = ReadCertified(*support_, first, false);
    EXPECT_EQ(outputs[0], expected.output[0]);
    EXPECT_EQ(outputs[1], expected.output[1]);
    ++answered_;
  }

  // The same in a thread of its own, once those before it wait in the queue.
  void StartRead(double mark, size_t count = 1) {
    threads_.emplace_back([this, mark, count] { Read(mark, count); });
  }
  void StartQueued(double mark, size_t now_waiting) {
    StartRead(mark);
    WaitUntil([&] { return combiner_->Counts().waiting >= now_waiting; });
  }

  static void WaitUntil(const std::function<bool()>& true_at_last) {
    for (int i = 0; i < 20'000 && !true_at_last(); ++i) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_TRUE(true_at_last());
  }

  const std::shared_ptr<const SupportSet> support_ = MakeSupport(12, kSeed);
  DoorEngine engine_;
  std::unique_ptr<ReadoutCombiner> combiner_;
  std::atomic<int> answered_ = 0;
  std::vector<std::thread> threads_;
};

TEST_F(CombinerTest, AloneAReadRunsAtOnceWhateverTheDelay) {
  Make({.lanes = 1, .delay = hours(1)});
  const auto start = steady_clock::now();
  for (int i = 0; i < 10; ++i) Read(i);
  EXPECT_LT(steady_clock::now() - start, seconds(30));
  EXPECT_EQ(engine_.calls(), std::vector<size_t>(10, 1));
  EXPECT_EQ(combiner_->Counts().groups, 0U);
}

TEST_F(CombinerTest, WhatArrivesWhileTheLanesAreTakenIsOneGroupInOrder) {
  engine_.Hold(1);
  Make({.lanes = 1});
  StartRead(100);
  engine_.WaitForCalls(1);
  for (int i = 0; i < 8; ++i) StartQueued(i, static_cast<size_t>(i) + 1);
  EXPECT_EQ(engine_.calls().size(), 1U);
  engine_.Open();
  WaitUntil([&] { return answered_ == 9; });
  EXPECT_EQ(engine_.calls(), (std::vector<size_t>{1, 8}));
  EXPECT_EQ(engine_.order(), (std::vector<double>{100, 0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(combiner_->Counts().groups, 1U);
  EXPECT_EQ(combiner_->Counts().combined, 8U);
}

TEST_F(CombinerTest, AFullGroupLeavesTheRestForTheNextAndNobodyOvertakes) {
  engine_.Hold(1);
  Make({.lanes = 1, .group_queries = 3});
  StartRead(100);
  engine_.WaitForCalls(1);
  for (int i = 0; i < 8; ++i) StartQueued(i, static_cast<size_t>(i) + 1);
  engine_.Open();
  WaitUntil([&] { return answered_ == 9; });
  EXPECT_EQ(engine_.calls(), (std::vector<size_t>{1, 3, 3, 2}));
  EXPECT_EQ(engine_.order(), (std::vector<double>{100, 0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(CombinerTest, WithoutADelayNothingWaitsWhileALaneIsFree) {
  engine_.Hold(2);
  Make({.lanes = 3});
  StartRead(1);
  engine_.WaitForCalls(1);
  StartRead(2);
  engine_.WaitForCalls(2);
  Read(3);
  EXPECT_EQ(engine_.calls(), std::vector<size_t>(3, 1));
}

TEST_F(CombinerTest, AGroupThatIsFullWaitsForNoDelay) {
  engine_.Hold(1);
  Make({.lanes = 8, .delay = hours(1), .group_queries = 4});
  StartRead(100);
  engine_.WaitForCalls(1);
  for (int i = 0; i < 3; ++i) StartQueued(i, static_cast<size_t>(i) + 1);
  EXPECT_EQ(engine_.calls().size(), 1U);
  Read(3);
  WaitUntil([&] { return answered_ == 4; });
  EXPECT_EQ(engine_.calls(), (std::vector<size_t>{1, 4}));
}

TEST_F(CombinerTest, TheDelayIsTheLongestThatOneWaitsForCompany) {
  engine_.Hold(1);
  Make({.lanes = 2, .delay = milliseconds(50)});
  StartRead(100);
  engine_.WaitForCalls(1);
  const auto start = steady_clock::now();
  Read(1);
  EXPECT_GE(steady_clock::now() - start, milliseconds(50));
  EXPECT_LT(steady_clock::now() - start, seconds(20));
  EXPECT_EQ(answered_, 1);
}

TEST_F(CombinerTest, WhenNothingElseIsInFlightTheDelayIsOver) {
  engine_.Hold(1);
  Make({.lanes = 2, .delay = hours(1)});
  StartRead(100, 17);  // a large one
  engine_.WaitForCalls(1);
  StartQueued(1, 1);
  StartQueued(2, 2);
  engine_.Open();
  WaitUntil([&] { return answered_ == 3; });
  EXPECT_EQ(engine_.calls(), (std::vector<size_t>{1, 2}));
}

TEST_F(CombinerTest, ALargeReadPassesWhileSmallOnesWait) {
  engine_.Hold(1);
  Make({.lanes = 1});
  StartRead(100);
  engine_.WaitForCalls(1);
  StartQueued(1, 1);
  Read(200, 17);
  EXPECT_EQ(answered_, 1);
  EXPECT_EQ(combiner_->Counts().waiting, 1U);
}

TEST_F(CombinerTest, WhatIsThrownReachesItsOwnCallerAlone) {
  engine_.Hold(1);
  Make({.lanes = 1});
  StartRead(100);
  engine_.WaitForCalls(1);
  std::atomic<int> thrown = 0;
  for (int i = 0; i < 6; ++i) {
    if (i % 3 == 1) {
      threads_.emplace_back([this, i, &thrown] {
        EXPECT_THROW(Read(i, 1, /*throws=*/true), std::runtime_error);
        ++thrown;
      });
      WaitUntil([&] { return combiner_->Counts().waiting >= static_cast<size_t>(i) + 1; });
    } else {
      StartQueued(i, static_cast<size_t>(i) + 1);
    }
  }
  engine_.Open();
  WaitUntil([&] { return answered_ == 5 && thrown == 2; });
  EXPECT_THROW(Read(1, 1, /*throws=*/true), std::runtime_error);
  EXPECT_THROW(Read(1, 40, /*throws=*/true), std::runtime_error);
  Read(7);
  EXPECT_EQ(combiner_->Counts().waiting, 0U);
}

// Random reads of several memories from many threads: every bit as read alone.
TEST(CombinerThreadsTest, NoBitOfACertifiedAnswerDependsOnTheCompany) {
  constexpr int kThreads = 8;
  constexpr int kReads = 150;
  std::vector<std::shared_ptr<const SupportSet>> memories;
  for (int i = 0; i < 4; ++i) memories.push_back(MakeSupport(6 + 9 * i, kSeed + static_cast<uint64_t>(i)));
  for (const CombinerOptions& options :
       {CombinerOptions{.lanes = 1}, CombinerOptions{.lanes = 2, .group_queries = 20},
        CombinerOptions{.lanes = 8, .delay = std::chrono::microseconds(200), .group_queries = 12}}) {
    CpuEngine engine(2);
    ReadoutCombiner combiner(&engine, options);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(static_cast<uint32_t>(kSeed) + static_cast<uint32_t>(t));
        for (int i = 0; i < kReads; ++i) {
          const size_t count = 1 + random() % (i % 10 == 0 ? 40 : 6);
          const std::vector<double> queries = MakeQueries(count, random());
          ReadoutTask task;
          task.support = memories[random() % memories.size()];
          task.queries = absl::MakeConstSpan(queries);
          Readouts answer;
          combiner.Read(absl::MakeConstSpan(&task, 1), absl::MakeSpan(&answer, 1));
          const size_t row = random() % count;
          const auto query = absl::MakeConstSpan(queries).subspan(row * kDimension, kDimension);
          const CertifiedReadout expected = ReadCertified(*task.support, query, false);
          const auto& outputs = std::get<SecretArray<double>>(answer.outputs);
          ASSERT_EQ(outputs.size(), count * 2);
          EXPECT_EQ(outputs[row * 2], expected.output[0]);
          EXPECT_EQ(outputs[row * 2 + 1], expected.output[1]);
          EXPECT_EQ(answer.error_bounds[row], expected.error_bound);
          EXPECT_EQ(answer.decision_values[row], expected.decision_value);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(combiner.Counts().waiting, 0U);
  }
}

}  // namespace
}  // namespace expunge::attention
