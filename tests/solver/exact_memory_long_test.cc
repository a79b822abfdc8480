// Long lives of memories: every insertion order, a hundred thousand changes, streams over every kind of data.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "solver/exact_memory.h"
#include "solver/reference_solver.h"
#include "tests/support/data.h"
#include "tests/support/exact_memory_trial.h"

namespace expunge::solver {
namespace {

using testing::DataKind;
using testing::Trial;

class ExactMemoryLongTest : public ::testing::TestWithParam<DataKind> {};

// Adds in every order; then removes one token after the other in that order.
TEST_P(ExactMemoryLongTest, EveryInsertionOrderOfSixTokensGivesTheSameBits) {
  const TokenList tokens = testing::MakeTokens(GetParam(), 6, 2, 1, 6);
  for (const BoxBound& box : testing::kBoxes) {
    const Config config = testing::MakeConfig(2, 1, box);
    // The expected states, by the set of tokens.
    std::vector<Digest> expected;
    for (unsigned set = 0; set < 64; ++set) {
      MemoryState state{config, {}, {}};
      for (size_t i = 0; i < 6; ++i) {
        if ((set >> i & 1) != 0) state.tokens.push_back(tokens[i]);
      }
      auto solution = SolveFromNothing(config, state.tokens);
      ASSERT_TRUE(solution.ok());
      state.solution = *std::move(solution);
      expected.push_back(Fingerprint(state));
    }
    std::vector<size_t> order(6);
    std::iota(order.begin(), order.end(), 0);
    do {
      const auto memory = ExactMemory::Create(config);
      unsigned set = 0;
      for (const size_t i : order) {
        ASSERT_TRUE((*memory)->Add({tokens[i]}).ok());
        set |= 1U << i;
        ASSERT_EQ(Fingerprint((*memory)->State()), expected[set]);
      }
      for (const size_t i : order) {
        ASSERT_TRUE((*memory)->Remove({tokens[i]->id}).ok());
        set &= ~(1U << i);
        ASSERT_EQ(Fingerprint((*memory)->State()), expected[set]);
      }
      ASSERT_EQ((*memory)->counters().fallbacks, 0U);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

// The factor is updated all the way; nothing accumulates.
TEST_P(ExactMemoryLongTest, AHundredThousandChangesDoNotDrift) {
  constexpr int kChanges = 100000 / 8;  // eight kinds of data: a hundred thousand in all
  const Config config = testing::MakeConfig(3, 1, {10, 0}, 0.3);
  Trial trial(config, testing::MakeTokens(GetParam(), 70, 3, 1, 41), 41);
  trial.AddRandom(50);
  for (int change = 1; change <= kChanges; ++change) {
    trial.Step();
    if (change % 100 == 0) {
      ASSERT_EQ(trial.Difference(), "") << "after " << change << " changes";
    }
  }
  EXPECT_EQ(trial.memory().counters().fallbacks, 0U);
}

TEST_P(ExactMemoryLongTest, StreamsStayExactInMoreDimensions) {
  uint64_t seed = 100;
  for (const BoxBound& box : testing::kBoxes) {
    const Config config = testing::MakeConfig(8, 1, box, 0.1);
    ++seed;
    Trial trial(config, testing::MakeTokens(GetParam(), 150, 8, 1, seed), seed);
    trial.AddRandom(120);
    for (int step = 0; step < 64; ++step) {
      trial.Step();
      ASSERT_EQ(trial.Difference(), "") << "seed " << seed << " step " << step;
    }
    EXPECT_EQ(trial.memory().counters().fallbacks, 0U);
  }
}

std::string KindName(const ::testing::TestParamInfo<DataKind>& info) { return testing::Name(info.param); }
INSTANTIATE_TEST_SUITE_P(Kinds, ExactMemoryLongTest, ::testing::ValuesIn(testing::kAllDataKinds), KindName);

}  // namespace
}  // namespace expunge::solver
