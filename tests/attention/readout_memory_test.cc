// Readouts where memory runs out, and what they leave in memory that they free.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "attention/cpu/cpu_engine.h"
#include "attention/cpu/thread_team.h"
#include "tests/attention/readout_problem.h"
#include "tests/support/watched_memory.h"

namespace expunge::attention {
namespace {

using test_support::FreedBlocks;
using test_support::MemoryRunsOut;

constexpr float kSecret = 0.56789F;
constexpr size_t kDimension = 32;
constexpr size_t kQueries = 48;  // two threads' work

// The watch would notice.
TEST(ReadoutMemoryTest, AnOrdinaryVectorIsFoundWhenItIsFreed) {
  const FreedBlocks freed(kSecret);
  auto plain = std::make_unique<std::vector<float>>(10, kSecret);
  auto secret = std::make_unique<SecretArray<float>>(10, kSecret);
  secret.reset();
  EXPECT_EQ(FreedBlocks::found(), 0U);
  plain.reset();
  EXPECT_EQ(FreedBlocks::found(), 1U);
}

// All values are kSecret, so that every output is, exactly in float.
std::shared_ptr<const SupportSet> SecretValues() {
  std::vector<solver::Token> tokens(400);
  std::vector<WeightedToken> weighted;
  for (solver::Token& token : tokens) {
    const auto place = static_cast<double>(weighted.size());
    token.key.assign(kDimension, place / 400);
    token.value.assign(kDimension, static_cast<double>(kSecret));
    weighted.push_back({&token, static_cast<uint32_t>(weighted.size()), 1.0 / 400});
  }
  solver::Config config;
  config.key_dimension = kDimension;
  config.value_dimension = kDimension;
  config.gamma = 0.1;
  return std::make_shared<const SupportSet>(config, weighted, 0.25, 0x1p-53);
}

TEST(ReadoutMemoryTest, OutputsOfAnAttemptThatIsGivenUpAreWiped) {
  const std::shared_ptr<const SupportSet> support = SecretValues();
  std::vector<double> rows(kQueries * kDimension, 0.25);
  CpuEngine engine(2);
  const ReadoutTask task = {support, absl::MakeConstSpan(rows), Precision::kFloat32};
  const Readouts near = ReadOne(&engine, task);
  ASSERT_EQ(near.precision, Precision::kFloat32);
  for (const double x : AsDoubles(near.outputs)) ASSERT_EQ(x, static_cast<double>(kSecret));
  std::fill_n(rows.end() - kDimension, kDimension, 1e30);
  auto answer = std::make_unique<Readouts>();
  const FreedBlocks freed(kSecret);
  engine.Read({&task, 1}, {answer.get(), 1});
  EXPECT_EQ(answer->precision, Precision::kCertified);
  *answer = near;
  answer.reset();
  EXPECT_EQ(FreedBlocks::found(), 0U);
}

// Reads `task` with the allocation after `count` failing. Returns whether there were so many.
bool ReadWithout(size_t count, const ReadoutTask& task, const Readouts& expected) {
  CpuEngine engine(3);
  Readouts answer;
  bool thrown = false;
  bool has_run_out = false;
  {
    const MemoryRunsOut memory(count);
    try {
      engine.Read({&task, 1}, {&answer, 1});
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    has_run_out = MemoryRunsOut::HasRunOut();
  }
  EXPECT_TRUE(has_run_out || !thrown);
  if (!thrown) {
    EXPECT_EQ(AsDoubles(answer.outputs), AsDoubles(expected.outputs)) << count;
  }
  engine.Read({&task, 1}, {&answer, 1});
  EXPECT_EQ(AsDoubles(answer.outputs), AsDoubles(expected.outputs)) << "after " << count;
  return has_run_out;
}

TEST(ReadoutMemoryTest, WhereverMemoryRunsOutNothingIsLeftAndTheNextReadIsRight) {
  const std::shared_ptr<const SupportSet> support = SecretValues();
  const std::vector<float> queries(kQueries * kDimension, kSecret);
  CpuEngine engine(1);
  for (const bool with_contributions : {false, true}) {
    const ReadoutTask task = {support, absl::MakeConstSpan(queries), Precision::kCertified,
                              with_contributions};
    const Readouts expected = ReadOne(&engine, task);
    const FreedBlocks freed(static_cast<double>(kSecret));
    size_t count = 0;
    while (ReadWithout(count, task, expected)) ++count;
    EXPECT_GT(count, with_contributions ? kQueries : 5U);
    EXPECT_EQ(FreedBlocks::found(), 0U);
  }
}

TEST(ReadoutMemoryTest, ATeamGoesOnWithoutAHelperThatItCannotCall) {
  cpu::ThreadTeam team(3);
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<std::atomic<int>> done(20);
    bool has_run_out = false;
    {
      const MemoryRunsOut memory(1 + static_cast<size_t>(repeat) % 2);  // the first is the job's
      team.ForEach(done.size(), 3, [&](size_t i) { done[i].fetch_add(1); });
      has_run_out = MemoryRunsOut::HasRunOut();
    }
    ASSERT_TRUE(has_run_out);
    for (const std::atomic<int>& times : done) ASSERT_EQ(times, 1);
  }
  std::atomic<int> begun = 0;
  team.ForEach(3, 3, [&](size_t) {
    begun.fetch_add(1);
    while (begun.load() < 3) std::this_thread::yield();
  });
  EXPECT_EQ(begun, 3);
}

}  // namespace
}  // namespace expunge::attention
