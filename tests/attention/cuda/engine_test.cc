// The engine on the emulated device: residency, eviction, publication, wiping, and every call of the device
// failing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "attention/cpu/cpu_engine.h"
#include "attention/cuda/cuda_engine.h"
#include "attention/cuda/fast_rows.h"
#include "tests/attention/cuda/failing_allocations.h"
#include "tests/attention/cuda/host_device.h"
#include "tests/support/data.h"

namespace expunge::attention::cuda {
namespace {

using testing::DeviceLog;
using testing::FailingAllocation;
using testing::HostDevice;
using ::testing::IsEmpty;
using Support = std::shared_ptr<const SupportSet>;

constexpr size_t kMemory = size_t{512} << 20;

Support MakeSupport(size_t tokens, uint32_t d, uint32_t dv, uint64_t seed, double offset = 0) {
  const auto list = expunge::testing::MakeTokens(expunge::testing::DataKind::kGaussian, tokens, d, dv, seed);
  solver::TokenList moved;
  for (const auto& token : list) {
    auto copy = std::make_shared<solver::Token>(*token);
    for (double& x : copy->key) x += offset;
    moved.push_back(copy);
  }
  std::vector<WeightedToken> weighted;
  for (uint32_t i = 0; i < tokens; ++i) {
    weighted.push_back({moved[i].get(), i, (1.0 + i % 3) / static_cast<double>(2 * tokens)});
  }
  const solver::Config config = expunge::testing::MakeConfig(d, dv, {0, 1.0}, 0.5 / d);
  return std::make_shared<const SupportSet>(config, weighted, 0.25, 0x1p-53);
}

std::vector<double> MakeQueries(size_t count, uint64_t seed, double scale = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> queries(count);
  for (double& x : queries) x = static_cast<float>(scale * normal(random));
  return queries;
}

class CudaEngineTest : public ::testing::Test {
 protected:
  explicit CudaEngineTest(size_t memory = kMemory) { Open({.least_operations = 0}, memory); }
  ~CudaEngineTest() override {
    const bool lost = engine_ != nullptr && engine_->Status().backend == Backend::kCpu;
    engine_ = nullptr;
    EXPECT_THAT(log_->violations(), IsEmpty());
    if (!lost) {
      EXPECT_EQ(log_->blocks_in_use(), 0U);
    }
  }

  void Open(CudaEngineOptions options, size_t memory = kMemory, bool hopper = false) {
    options.slot_bytes = size_t{1} << 18;
    engine_ = nullptr;
    log_ = std::make_shared<DeviceLog>();
    engine_ = std::make_unique<CudaEngine>(options, std::make_unique<HostDevice>(log_, memory, hopper),
                                           std::make_unique<CpuEngine>(1));
  }

  Readouts Read(const ReadoutTask& task) {
    Readouts answer;
    engine_->Read({&task, 1}, {&answer, 1});
    return answer;
  }

  std::shared_ptr<DeviceLog> log_;
  std::unique_ptr<CudaEngine> engine_;
};

double OutputAt(const Readouts& answer, size_t i) {
  return std::visit([i](const auto& rows) { return static_cast<double>(rows[i]); }, answer.outputs);
}

// The answer against the certified one, within both bounds, and its shape.
void ExpectRight(const ReadoutTask& task, const Readouts& answer) {
  ReadoutTask certified = task;
  certified.precision = Precision::kCertified;
  Readouts expected;
  CpuEngine(1).Read({&certified, 1}, {&expected, 1});
  const size_t dv = task.support->value_dimension();
  ASSERT_EQ(answer.error_bounds.size(), expected.error_bounds.size());
  ASSERT_EQ(answer.decision_values.size(), expected.error_bounds.size());
  for (size_t q = 0; q < answer.error_bounds.size(); ++q) {
    double error = 0;
    for (size_t k = 0; k < dv; ++k) {
      error = std::hypot(error, OutputAt(answer, q * dv + k) - OutputAt(expected, q * dv + k));
    }
    ASSERT_LE(error, answer.error_bounds[q] + expected.error_bounds[q]) << "query " << q;
    const double slack = answer.precision == Precision::kBfloat16 ? 0.1 : 1e-4;
    ASSERT_NEAR(answer.decision_values[q], expected.decision_values[q], slack) << "query " << q;
  }
}

struct Case {
  Support support;
  std::vector<double> queries;
  [[nodiscard]] ReadoutTask Task(Precision precision) const { return {support, queries, precision, false}; }
};

Case MakeCase(size_t tokens, uint32_t d, uint32_t dv, size_t queries, uint64_t seed = 1) {
  return {MakeSupport(tokens, d, dv, seed), MakeQueries(queries * d, seed + 100)};
}

constexpr Precision kFast[] = {Precision::kFloat64, Precision::kFloat32, Precision::kBfloat16};

TEST_F(CudaEngineTest, AnswersOnTheDeviceWithinTheStatedBounds) {
  const Case data = MakeCase(37, 20, 24, 70);
  for (const Precision precision : kFast) {
    const ReadoutTask task = data.Task(precision);
    const Readouts answer = Read(task);
    EXPECT_EQ(answer.backend, Backend::kCuda);
    EXPECT_EQ(answer.precision, precision);
    EXPECT_EQ(std::holds_alternative<SecretArray<double>>(answer.outputs), precision == Precision::kFloat64);
    ExpectRight(task, answer);
  }
  const EngineStatus status = engine_->Status();
  EXPECT_EQ(status.backend, Backend::kCuda);
  EXPECT_EQ(status.device, "emulated device");
  EXPECT_EQ(status.fallbacks, 0U);
  EXPECT_EQ(status.device_errors, 0U);
  EXPECT_GT(status.resident_bytes, 0U);
}

// Its matrix instructions take keys of at most 128 dimensions; longer ones go by the other kernel.
TEST_F(CudaEngineTest, ReadsBfloat16OnHopperWithKeysOfAnyLength) {
  Open({.least_operations = 0}, kMemory, /*hopper=*/true);
  const Case short_keys = MakeCase(70, 100, 24, 70);
  const Case long_keys = MakeCase(20, 140, 24, 5, 2);
  const std::vector<ReadoutTask> tasks = {short_keys.Task(Precision::kBfloat16),
                                          long_keys.Task(Precision::kBfloat16)};
  std::vector<Readouts> answers(2);
  engine_->Read(tasks, absl::MakeSpan(answers));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(answers[i].backend, Backend::kCuda);
    EXPECT_EQ(answers[i].precision, Precision::kBfloat16);
    ExpectRight(tasks[i], answers[i]);
  }
  EXPECT_EQ(log_->calls(DeviceLog::Call::kLaunch), 2U);
}

TEST_F(CudaEngineTest, TakesQueriesInFloat) {
  const Case data = MakeCase(9, 5, 6, 11);
  const std::vector<float> floats(data.queries.begin(), data.queries.end());
  const ReadoutTask task{data.support, absl::MakeConstSpan(floats), Precision::kFloat32, false};
  const Readouts answer = Read(task);
  EXPECT_EQ(answer.backend, Backend::kCuda);
  ExpectRight(task, answer);
}

TEST_F(CudaEngineTest, LeavesCertifiedReadoutsAndContributionsToTheCpu) {
  const Case data = MakeCase(9, 5, 6, 3);
  EXPECT_EQ(Read(data.Task(Precision::kCertified)).backend, Backend::kCpu);
  ReadoutTask task = data.Task(Precision::kFloat32);
  task.with_contributions = true;
  const Readouts answer = Read(task);
  EXPECT_EQ(answer.backend, Backend::kCpu);
  EXPECT_EQ(answer.contributions.size(), 3U);
  EXPECT_EQ(engine_->Status().fallbacks, 0U);
  EXPECT_EQ(log_->calls(DeviceLog::Call::kLaunch), 0U);
}

TEST_F(CudaEngineTest, LeavesSmallCallsToTheCpu) {
  Open({.least_operations = 1e5});
  const Case few = MakeCase(10, 8, 8, 5);
  EXPECT_EQ(Read(few.Task(Precision::kFloat32)).backend, Backend::kCpu);
  EXPECT_EQ(engine_->Status().fallbacks, 0U);
  const Case many = MakeCase(10, 8, 8, 400);
  EXPECT_EQ(Read(many.Task(Precision::kFloat32)).backend, Backend::kCuda);
}

TEST_F(CudaEngineTest, AnswersMixedTasksInOneCall) {
  std::vector<Case> cases;
  for (uint32_t i = 0; i < 9; ++i)
    cases.push_back(MakeCase(1 + 7 * i, 3 + 5 * i, 2 + 9 * i, 1 + 11 * i, i + 1));
  cases.push_back(MakeCase(5, 4, 4, 0));
  std::vector<ReadoutTask> tasks;
  for (size_t i = 0; i < cases.size(); ++i) tasks.push_back(cases[i].Task(static_cast<Precision>(i % 4)));
  std::vector<Readouts> answers(tasks.size());
  engine_->Read(tasks, absl::MakeSpan(answers));
  for (size_t i = 0; i < tasks.size(); ++i) {
    const bool by_device = tasks[i].precision != Precision::kCertified && !cases[i].queries.empty();
    EXPECT_EQ(answers[i].backend, by_device ? Backend::kCuda : Backend::kCpu) << i;
    ExpectRight(tasks[i], answers[i]);
  }
  EXPECT_EQ(log_->calls(DeviceLog::Call::kLaunch), 3U);  // one for each precision
}

// More queries than a slot holds: several slices through both slots.
TEST_F(CudaEngineTest, CutsLongCallsInSlices) {
  const Case data = MakeCase(2, 3, 150, 1200);
  const ReadoutTask task = data.Task(Precision::kFloat32);
  const Readouts answer = Read(task);
  EXPECT_EQ(answer.backend, Backend::kCuda);
  EXPECT_GE(log_->calls(DeviceLog::Call::kLaunch), 4U);
  ExpectRight(task, answer);
}

TEST_F(CudaEngineTest, ReadsQueriesBeyondAFastPrecisionMoreExactly) {
  Case data = MakeCase(9, 5, 6, 3);
  data.queries[7] = 1e25;
  const ReadoutTask task = data.Task(Precision::kFloat32);
  const Readouts answer = Read(task);
  EXPECT_EQ(answer.backend, Backend::kCpu);
  ExpectRight(task, answer);
  EXPECT_TRUE(std::isfinite(answer.error_bounds[1]));
  EXPECT_EQ(engine_->Status().device_errors, 0U);
}

TEST_F(CudaEngineTest, ReadsNumbersBeyondFloatOnTheCpu) {
  const Support far = MakeSupport(6, 3, 3, 4, 1e130);
  const std::vector<double> queries(3, 1e130);
  const ReadoutTask task{far, queries, Precision::kFloat32, false};
  const Readouts answer = Read(task);
  EXPECT_EQ(answer.backend, Backend::kCpu);
  ExpectRight(task, answer);
}

TEST_F(CudaEngineTest, ReadsKeysTooLongForSharedMemoryOnTheCpu) {
  const Case data = MakeCase(3, 4000, 2, 2);
  const ReadoutTask task = data.Task(Precision::kFloat32);
  EXPECT_EQ(Read(task).backend, Backend::kCpu);
  EXPECT_EQ(log_->calls(), 0U);
}

TEST_F(CudaEngineTest, KeepsSupportSetsOnTheDevice) {
  const Case data = MakeCase(9, 5, 6, 3);
  (void)Read(data.Task(Precision::kFloat32));
  const uint64_t copies = log_->calls(DeviceLog::Call::kCopyIn);
  (void)Read(data.Task(Precision::kFloat32));
  EXPECT_EQ(log_->calls(DeviceLog::Call::kCopyIn), copies + 1);  // the queries
}

TEST_F(CudaEngineTest, PublicationWipesTheOldSetAndTheNextReadBringsTheNewOne) {
  const Case before = MakeCase(40, 5, 6, 3, 1);
  const Case after = MakeCase(300, 5, 6, 3, 2);
  (void)Read(before.Task(Precision::kFloat32));
  (void)Read(before.Task(Precision::kFloat64));
  const uint64_t copies = log_->calls(DeviceLog::Call::kCopyIn);
  engine_->Publish(before.support, after.support);
  EXPECT_EQ(engine_->Status().resident_bytes, 0U);
  EXPECT_EQ(log_->calls(DeviceLog::Call::kCopyIn), copies);
  ExpectRight(after.Task(Precision::kFloat32), Read(after.Task(Precision::kFloat32)));
  const uint64_t one = SupportImageBytes(300, 5, 6, Kernel::kFloat32);
  EXPECT_EQ(engine_->Status().resident_bytes, one);
  // A reader that still has the old one gets its answer, and leaves nothing behind.
  ExpectRight(before.Task(Precision::kFloat32), Read(before.Task(Precision::kFloat32)));
  EXPECT_EQ(engine_->Status().resident_bytes, one);
  engine_->Publish(after.support, nullptr);
  EXPECT_EQ(engine_->Status().resident_bytes, 0U);
}

TEST_F(CudaEngineTest, PublicationDoesNotTouchTheDeviceForWhatNobodyRead) {
  const Case before = MakeCase(4, 5, 6, 3, 1);
  const Case after = MakeCase(5, 5, 6, 3, 2);
  engine_->Publish(before.support, after.support);
  engine_->Publish(nullptr, before.support);
  EXPECT_EQ(log_->calls(), 0U);
}

TEST_F(CudaEngineTest, PublicationDoesNotWaitForAReadUnderWay) {
  const Case before = MakeCase(40, 5, 6, 3, 1);
  const Case after = MakeCase(50, 5, 6, 3, 2);
  (void)Read(before.Task(Precision::kFloat32));
  const uint64_t resident = engine_->Status().resident_bytes;
  bool published = false;
  // In the middle of the read: the old set must stay for it.
  log_->OnLaunch([&] {
    std::thread([&] { engine_->Publish(before.support, after.support); }).join();
    published = true;
    EXPECT_EQ(engine_->Status().resident_bytes, resident);
  });
  const Readouts answer = Read(before.Task(Precision::kFloat32));
  EXPECT_TRUE(published);
  ExpectRight(before.Task(Precision::kFloat32), answer);
  EXPECT_EQ(engine_->Status().resident_bytes, 0U);
  log_->OnLaunch(nullptr);
}

// A change is durable by then: whatever happens, the old copies must go.
TEST_F(CudaEngineTest, PublicationWipesTheOldSetWithoutAnyMemory) {
  const Case before = MakeCase(40, 5, 6, 3, 1);
  const Case after = MakeCase(50, 5, 6, 3, 2);
  (void)Read(before.Task(Precision::kFloat32));
  (void)Read(before.Task(Precision::kFloat64));
  {
    const FailingAllocation failing(1, /*all_later=*/true);
    engine_->Publish(before.support, after.support);
    EXPECT_TRUE(failing.failed());
  }
  EXPECT_EQ(engine_->Status().resident_bytes, 0U);
  const Readouts late = Read(before.Task(Precision::kFloat32));
  EXPECT_EQ(late.backend, Backend::kCuda);
  ExpectRight(before.Task(Precision::kFloat32), late);
  EXPECT_EQ(engine_->Status().resident_bytes, 0U);
}

TEST_F(CudaEngineTest, WipesSetsThatNobodyHoldsAnyMore) {
  Case gone = MakeCase(40, 5, 6, 3, 1);
  (void)Read(gone.Task(Precision::kFloat32));
  gone.support = nullptr;
  const Case other = MakeCase(3, 5, 6, 3, 2);
  (void)Read(other.Task(Precision::kFloat32));
  EXPECT_EQ(engine_->Status().resident_bytes, SupportImageBytes(3, 5, 6, Kernel::kFloat32));
}

TEST_F(CudaEngineTest, EvictsTheColdestWithinItsBudget) {
  const uint64_t one = SupportImageBytes(40, 5, 6, Kernel::kFloat32);
  Open({.device_bytes = 3 * one, .least_operations = 0});
  std::vector<Case> cases;
  for (uint64_t i = 0; i < 4; ++i) cases.push_back(MakeCase(40, 5, 6, 3, i + 1));
  for (size_t i = 0; i < 3; ++i) (void)Read(cases[i].Task(Precision::kFloat32));
  (void)Read(cases[0].Task(Precision::kFloat32));  // now 1 is the coldest
  EXPECT_EQ(engine_->Status().evictions, 0U);
  EXPECT_EQ(Read(cases[3].Task(Precision::kFloat32)).backend, Backend::kCuda);
  EXPECT_EQ(engine_->Status().evictions, 1U);
  EXPECT_EQ(engine_->Status().resident_bytes, 3 * one);
  const uint64_t allocations = log_->calls(DeviceLog::Call::kAllocate);
  for (const size_t i : {0, 2, 3}) (void)Read(cases[i].Task(Precision::kFloat32));
  EXPECT_EQ(log_->calls(DeviceLog::Call::kAllocate), allocations);
}

TEST_F(CudaEngineTest, ReadsWhatExceedsTheBudgetOnTheCpu) {
  Open({.device_bytes = 1000, .least_operations = 0});
  const Case data = MakeCase(40, 5, 6, 3);
  const Readouts answer = Read(data.Task(Precision::kFloat32));
  EXPECT_EQ(answer.backend, Backend::kCpu);
  ExpectRight(data.Task(Precision::kFloat32), answer);
  EXPECT_EQ(engine_->Status().fallbacks, 1U);
  EXPECT_EQ(engine_->Status().device_errors, 0U);
}

// Two tasks of which only one fits beside the other: nothing that is being read is evicted.
TEST_F(CudaEngineTest, EvictsNothingThatIsBeingRead) {
  Open({.device_bytes = SupportImageBytes(40, 5, 6, Kernel::kFloat32), .least_operations = 0});
  const Case a = MakeCase(40, 5, 6, 3, 1);
  const Case b = MakeCase(40, 5, 6, 3, 2);
  const std::vector<ReadoutTask> tasks = {a.Task(Precision::kFloat32), b.Task(Precision::kFloat32)};
  std::vector<Readouts> answers(2);
  engine_->Read(tasks, absl::MakeSpan(answers));
  EXPECT_EQ(answers[0].backend, Backend::kCuda);
  EXPECT_EQ(answers[1].backend, Backend::kCpu);
  ExpectRight(tasks[0], answers[0]);
  ExpectRight(tasks[1], answers[1]);
}

TEST_F(CudaEngineTest, MakesRoomAndTriesAgainWhenTheDeviceIsFull) {
  const Case a = MakeCase(40, 5, 6, 3, 1);
  const Case b = MakeCase(40, 5, 6, 3, 2);
  (void)Read(a.Task(Precision::kFloat32));
  log_->FailAt(1, DeviceError::kOutOfMemory, DeviceLog::Call::kAllocate);
  const Readouts answer = Read(b.Task(Precision::kFloat32));
  EXPECT_EQ(answer.backend, Backend::kCuda);
  const EngineStatus status = engine_->Status();
  EXPECT_EQ(status.device_errors, 1U);
  EXPECT_EQ(status.evictions, 1U);
  EXPECT_EQ(status.fallbacks, 0U);
  EXPECT_EQ(status.backend, Backend::kCuda);
}

TEST_F(CudaEngineTest, ReadsOnTheCpuWhileTheDeviceIsFullAndOnTheDeviceLater) {
  Open({.least_operations = 0}, size_t{1} << 17);  // no room for a slot
  const Case data = MakeCase(40, 5, 6, 3);
  for (int i = 0; i < 2; ++i) {
    const Readouts answer = Read(data.Task(Precision::kFloat32));
    EXPECT_EQ(answer.backend, Backend::kCpu);
    ExpectRight(data.Task(Precision::kFloat32), answer);
  }
  EXPECT_EQ(engine_->Status().fallbacks, 2U);
  EXPECT_EQ(engine_->Status().device_errors, 2U);
  EXPECT_EQ(engine_->Status().backend, Backend::kCuda);  // it may have room later
}

// Whichever call of the device fails: the answers are right, the error is told, and the device is left alone.
TEST_F(CudaEngineTest, SurvivesALossAtEveryCall) {
  const Case a = MakeCase(40, 5, 6, 70, 1);
  const Case b = MakeCase(20, 5, 6, 3, 2);
  const Case c = MakeCase(30, 5, 6, 3, 3);
  const std::vector<ReadoutTask> tasks = {a.Task(Precision::kFloat32), b.Task(Precision::kFloat64)};
  const auto run = [&] {
    for (int round = 0; round < 2; ++round) {
      std::vector<Readouts> answers(2);
      engine_->Read(tasks, absl::MakeSpan(answers));
      ExpectRight(tasks[0], answers[0]);
      ExpectRight(tasks[1], answers[1]);
      engine_->Publish(b.support, c.support);
      ExpectRight(c.Task(Precision::kFloat64), Read(c.Task(Precision::kFloat64)));
    }
  };
  run();
  const uint64_t calls = log_->calls();
  ASSERT_GT(calls, 30U);
  for (uint64_t n = 1; n <= calls; ++n) {
    SCOPED_TRACE(n);
    Open({.least_operations = 0});
    log_->FailAt(n, DeviceError::kLost);
    run();
    const EngineStatus status = engine_->Status();
    EXPECT_EQ(status.device_errors, 1U);
    EXPECT_THAT(status.last_device_error, ::testing::HasSubstr("injected"));
    EXPECT_EQ(status.backend, Backend::kCpu);
    EXPECT_THAT(log_->violations(), IsEmpty());
    const Readouts later = Read(tasks[0]);
    EXPECT_EQ(later.backend, Backend::kCpu);
    EXPECT_EQ(engine_->Status().resident_bytes, 0U);
    EXPECT_GT(engine_->Status().fallbacks, 0U);
  }
}

// Whichever allocation of memory of the host fails: the call has its answers, by the CPU if need be, or says
// that there is no memory; nothing is left behind, and the next call reads on the device again.
TEST_F(CudaEngineTest, SurvivesAFailureOfEveryAllocation) {
  Open({.least_operations = 0, .lanes = 1});
  const Case a = MakeCase(2, 3, 150, 500, 1);  // several slices through both slots
  const Case b = MakeCase(20, 5, 6, 3, 2);
  const std::vector<ReadoutTask> tasks = {a.Task(Precision::kFloat32), b.Task(Precision::kFloat64)};
  size_t by_cpu = 0;
  for (uint64_t n = 1;; ++n) {
    SCOPED_TRACE(n);
    std::vector<Readouts> answers(2);
    bool failed = false;
    bool answered = true;
    {
      const FailingAllocation failing(n);
      try {
        engine_->Read(tasks, absl::MakeSpan(answers));
      } catch (const std::bad_alloc&) {
        answered = false;
      }
      failed = failing.failed();
    }
    EXPECT_TRUE(log_->staging_is_wiped());
    if (answered) {
      for (size_t i = 0; i < 2; ++i) {
        ExpectRight(tasks[i], answers[i]);
        if (answers[i].backend == Backend::kCpu) ++by_cpu;
      }
    }
    ASSERT_THAT(log_->violations(), IsEmpty());
    if (!failed) break;
  }
  EXPECT_GT(by_cpu, 20U);
  EXPECT_EQ(Read(tasks[0]).backend, Backend::kCuda);
  EXPECT_EQ(engine_->Status().device_errors, 0U);
}

// Far from the centre the rounding of bfloat16 moves exponents by more than all weights together are.
TEST_F(CudaEngineTest, DecisionValuesStayWithinWhatWeightsAllow) {
  const uint32_t d = 8;
  std::vector<solver::Token> tokens(6);
  std::vector<WeightedToken> weighted;
  std::vector<double> queries;
  for (uint32_t i = 0; i < tokens.size(); ++i) {
    tokens[i].key = MakeQueries(d, i + 1, 10);
    tokens[i].value = {1.0 * i};
    weighted.push_back({&tokens[i], i, 1.0 / 6});
    queries.insert(queries.end(), tokens[i].key.begin(), tokens[i].key.end());
  }
  const solver::Config config = expunge::testing::MakeConfig(d, 1, {0, 1.0}, 20);
  const auto support = std::make_shared<const SupportSet>(config, weighted, 0.25, 0x1p-53);
  for (const Precision precision : kFast) {
    const Readouts answer = Read({support, queries, precision, false});
    EXPECT_EQ(answer.backend, Backend::kCuda);
    for (const double decision : answer.decision_values) {
      EXPECT_GE(decision, -0.75);
      EXPECT_LE(decision, 1.25);
    }
  }
}

TEST_F(CudaEngineTest, ReadsScalesBeyondDoubleOnTheCpu) {
  for (const double gamma : {1e308, std::numeric_limits<double>::max()}) {
    for (const size_t count : {1, 2}) {
      std::vector<solver::Token> tokens(count);
      std::vector<WeightedToken> weighted;
      for (uint32_t i = 0; i < count; ++i) {
        tokens[i].key = {0.5, 0.25};
        tokens[i].value = {1.0 + i};
        weighted.push_back({&tokens[i], i, 0.25});
      }
      const solver::Config config = expunge::testing::MakeConfig(2, 1, {0, 1.0}, gamma);
      const auto support = std::make_shared<const SupportSet>(config, weighted, 0.25, 0x1p-53);
      const std::vector<double> queries = {0.5, 0.25, 1, 1};
      for (const Precision precision : kFast) {
        const ReadoutTask task{support, queries, precision, false};
        const Readouts answer = Read(task);
        EXPECT_EQ(answer.backend, Backend::kCpu);
        EXPECT_TRUE(std::isfinite(OutputAt(answer, 0)));
        ExpectRight(task, answer);
      }
    }
  }
  EXPECT_EQ(log_->calls(DeviceLog::Call::kLaunch), 0U);
}

TEST_F(CudaEngineTest, LeavesNothingInStagingMemoryWhenTheDeviceIsLost) {
  const Case data = MakeCase(40, 5, 6, 3);
  for (const DeviceLog::Call call : {DeviceLog::Call::kLaunch, DeviceLog::Call::kCopyOut,
                                     DeviceLog::Call::kClear, DeviceLog::Call::kSynchronize}) {
    Open({.least_operations = 0});
    (void)Read(data.Task(Precision::kFloat32));
    log_->FailAt(1, DeviceError::kLost, call);
    EXPECT_EQ(Read(data.Task(Precision::kFloat32)).backend, Backend::kCpu);
    EXPECT_TRUE(log_->staging_is_wiped());
  }
}

TEST_F(CudaEngineTest, LeavesNothingOnTheDeviceWhenALaunchFindsNoMemory) {
  const Case data = MakeCase(40, 5, 6, 3);
  (void)Read(data.Task(Precision::kFloat32));
  for (const DeviceLog::Call call :
       {DeviceLog::Call::kLaunch, DeviceLog::Call::kCopyOut, DeviceLog::Call::kCopyIn}) {
    log_->FailAt(1, DeviceError::kOutOfMemory, call);
    EXPECT_EQ(Read(data.Task(Precision::kFloat32)).backend, Backend::kCpu);
    EXPECT_TRUE(log_->staging_is_wiped());
    engine_->Publish(data.support, nullptr);  // else its copy is there
    EXPECT_TRUE(log_->memory_is_wiped());
  }
  EXPECT_EQ(Read(data.Task(Precision::kFloat32)).backend, Backend::kCuda);
}

TEST_F(CudaEngineTest, ADeviceThatReadsRightlyPassesTheCheckAndKeepsNothingOfIt) {
  for (const bool hopper : {false, true}) {
    Open({}, kMemory, hopper);
    EXPECT_EQ(engine_->Check(), "");
    EXPECT_EQ(engine_->Status().resident_bytes, 0U);
    EXPECT_EQ(engine_->Status().fallbacks, 0U);
  }
}

TEST_F(CudaEngineTest, ADeviceThatReadsWronglyIsFoundWhicheverKernelItIs) {
  const auto check = [this](int wrong_launch) {
    Open({});
    int launches = 0;
    log_->AfterLaunch([&launches, wrong_launch](const Group* groups) {
      if (++launches == wrong_launch) std::memset(groups[0].outputs, 0x7f, sizeof(float));
    });
    const std::string wrong = engine_->Check();
    log_->AfterLaunch(nullptr);
    return std::pair(wrong, launches);
  };
  const auto [right, launches] = check(0);
  EXPECT_EQ(right, "");
  EXPECT_THAT(check(1).first, ::testing::HasSubstr("wrongly as float64"));
  EXPECT_THAT(check(launches / 2).first, ::testing::HasSubstr("wrongly as float32"));
  EXPECT_THAT(check(launches).first, ::testing::HasSubstr("wrongly as bfloat16"));
}

TEST_F(CudaEngineTest, ADeviceThatFailsInTheCheckIsNamedWithItsError) {
  Open({});
  log_->FailAt(20, DeviceError::kLost);
  EXPECT_THAT(engine_->Check(), ::testing::HasSubstr("injected"));
  Open({.device_bytes = 1000});
  EXPECT_THAT(engine_->Check(), ::testing::HasSubstr("too little"));
}

TEST_F(CudaEngineTest, ManyThreadsReadWhileOthersPublish) {
  Open(
      {.device_bytes = 4 * SupportImageBytes(20, 5, 6, Kernel::kFloat32), .least_operations = 0, .lanes = 2});
  std::vector<Case> cases;
  for (uint64_t i = 0; i < 8; ++i) cases.push_back(MakeCase(20, 5, 6, 3, i + 1));
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 12; ++i) {
        const Case& data = cases[(t + 3 * i) % cases.size()];
        const ReadoutTask task = data.Task(Precision::kFloat32);
        ExpectRight(task, Read(task));
        if (i % 4 == t) engine_->Publish(data.support, cases[(t + 3 * i + 1) % cases.size()].support);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(engine_->Status().device_errors, 0U);
  EXPECT_LE(engine_->Status().resident_bytes, 4 * SupportImageBytes(20, 5, 6, Kernel::kFloat32));
}

}  // namespace
}  // namespace expunge::attention::cuda
