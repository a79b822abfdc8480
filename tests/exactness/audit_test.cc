// The audit of bench/exactness must notice what it is there to notice.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "bench/exactness/comparison.h"
#include "bench/exactness/regimes.h"
#include "bench/exactness/report.h"
#include "bench/exactness/runner.h"
#include "bench/exactness/vitals.h"

namespace expunge::bench {
namespace {

const Regime& RegimeOf(const std::string& name) {
  const auto& regimes = AllRegimes();
  return *std::find_if(regimes.begin(), regimes.end(), [&](const Regime& r) { return r.name == name; });
}

solver::MemoryState SomeState() {
  Generator generator(1, "state", 0);
  const Instance instance = MakeInstance(RegimeOf("gaussian"), 0, {}, &generator);
  auto state = SolveReference(instance.config, instance.tokens);
  EXPECT_TRUE(state.ok());
  return *std::move(state);
}

TEST(ComparisonTest, FindsAStateEqualToItself) {
  const solver::MemoryState state = SomeState();
  const Comparison same = Compare(state, state, {state.tokens[0]->key});
  EXPECT_TRUE(same.bits_equal);
  EXPECT_TRUE(same.partition_equal);
  EXPECT_EQ(same.deviation, 0.0);
}

TEST(ComparisonTest, NoticesTheLastBitOfAWeightAndOfRho) {
  const solver::MemoryState state = SomeState();
  solver::MemoryState other = state;
  const auto heaviest = std::max_element(other.solution.weights.begin(), other.solution.weights.end());
  *heaviest = std::nextafter(*heaviest, 0.0);
  const Comparison weight = Compare(other, state, {state.tokens[0]->key});
  EXPECT_FALSE(weight.bits_equal);
  EXPECT_TRUE(weight.partition_equal);
  EXPECT_GT(weight.deviation, 0.0);
  EXPECT_LT(weight.deviation, 1e-12);

  other = state;
  other.solution.rho = std::nextafter(other.solution.rho, 0.0);
  EXPECT_FALSE(Compare(other, state, {}).bits_equal);
}

TEST(ComparisonTest, NoticesAClassAndAToken) {
  const solver::MemoryState state = SomeState();
  solver::MemoryState other = state;
  const auto margin =
      std::find(other.solution.classes.begin(), other.solution.classes.end(), solver::TokenClass::kMargin);
  ASSERT_NE(margin, other.solution.classes.end());
  *margin = solver::TokenClass::kError;
  EXPECT_FALSE(Compare(other, state, {}).bits_equal);
  EXPECT_FALSE(Compare(other, state, {}).partition_equal);

  other = state;
  other.tokens.pop_back();
  other.solution.classes.pop_back();
  other.solution.weights.pop_back();
  EXPECT_FALSE(Compare(other, state, {}).partition_equal);
  EXPECT_EQ(Compare(other, state, {}).deviation, std::numeric_limits<double>::infinity());
}

TEST(ComparisonTest, DecayIsNoDeletion) {
  const solver::MemoryState state = SomeState();
  const auto margin =
      std::find(state.solution.classes.begin(), state.solution.classes.end(), solver::TokenClass::kMargin);
  const auto i = margin - state.solution.classes.begin();
  const solver::TokenList removed = {state.tokens[static_cast<size_t>(i)]};
  solver::TokenList retained = state.tokens;
  retained.erase(retained.begin() + i);
  const auto reference = SolveReference(state.config, retained);
  ASSERT_TRUE(reference.ok());
  const solver::MemoryState decayed = Decay(state, removed);
  double total = 0;
  for (const double weight : decayed.solution.weights) total += weight;
  EXPECT_NEAR(total, 1.0, 1e-14);
  EXPECT_GT(ReadoutDeviation(decayed, *reference, {removed[0]->key}), 1e-6);
}

TEST(ReportTest, OneMissingBitOrTrialOrOneFallbackFails) {
  Row row{&AllRegimes()[0], {}};
  EXPECT_FALSE(Passed(row));  // nothing was tried
  row.findings.trials = row.findings.completed = row.findings.bits_equal = row.findings.partition_equal =
      3000;
  EXPECT_TRUE(Passed(row));
  row.findings.bits_equal = 2999;
  EXPECT_FALSE(Passed(row));
  EXPECT_NE(FormatTable({row}).find(" 99.96 %"), std::string::npos);
  row.findings.bits_equal = 3000;
  row.findings.completed = 2999;
  EXPECT_FALSE(Passed(row));
  row.findings.completed = 3000;
  row.findings.fallbacks = 1;
  EXPECT_FALSE(Passed(row));
}

TEST(RunnerTest, ThreadsDoNotChangeTheFindings) {
  for (const char* name : {"redundant", "insertion_orders", "streams"}) {
    std::vector<Row> rows;
    for (const size_t threads : {1, 3}) {
      rows.push_back({&RegimeOf(name), RunCases(RegimeOf(name), {}, {1, threads, 0, 6})});
    }
    EXPECT_EQ(FormatJson({rows[0]}, 1), FormatJson({rows[1]}, 1)) << name;
  }
}

TEST(RegimesTest, AnotherCaseHasOtherData) {
  for (const Regime& regime : AllRegimes()) {
    if (regime.keys == Keys::kVitals) continue;
    std::vector<solver::TokenList> tokens;
    for (const uint64_t number : {0, 42}) {  // the same kind and size
      Generator generator(1, regime.name, number);
      tokens.push_back(MakeInstance(regime, number, {}, &generator).tokens);
    }
    EXPECT_NE(tokens[0][0]->value, tokens[1][0]->value) << regime.name;
  }
}

class VitalsTest : public ::testing::Test {
 protected:
  // A file of one stay with so many hours, a constant column and a counting one.
  static std::string Write(size_t hours, const std::string& last_cell) {
    const std::string path = ::testing::TempDir() + "/vitals.csv";
    std::ofstream file(path);
    file << "stay,hour,constant,counting\n";
    for (size_t i = 0; i < hours; ++i) {
      file << "a," << i << ",36.6," << (i + 1 == hours ? last_cell : std::to_string(i)) << "\n";
    }
    return path;
  }
};

TEST_F(VitalsTest, StandardisesTheFirstFortyHours) {
  const auto stays = ReadStays(Write(48, "1e9"));
  ASSERT_TRUE(stays.ok()) << stays.status();
  ASSERT_EQ(stays->size(), 1U);
  ASSERT_EQ(stays->front().size(), kHours);
  double mean = 0;
  double squares = 0;
  for (const auto& hour : stays->front()) {
    EXPECT_EQ(hour[0], 0.0);
    mean += hour[1] / kHours;
    squares += hour[1] * hour[1] / kHours;
  }
  EXPECT_NEAR(mean, 0.0, 1e-14);
  EXPECT_NEAR(squares, 1.0, 1e-14);
}

TEST_F(VitalsTest, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(absl::IsNotFound(ReadStays(::testing::TempDir() + "/nothing.csv").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadStays(Write(41, "high")).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadStays(Write(41, "")).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadStays(Write(41, "1,2")).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadStays(Write(kHours - 1, "1")).status()));
}

}  // namespace
}  // namespace expunge::bench
