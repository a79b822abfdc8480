#include "solver/screening.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "solver/double_double.h"
#include "solver/kernel.h"
#include "solver/reference_solver.h"
#include "tests/support/data.h"
#include "tests/support/dense_oracle.h"

namespace expunge::solver {
namespace {

using testing::DataKind;

MemoryState Solved(const Config& config, const TokenList& tokens) {
  auto solution = SolveFromNothing(config, tokens);
  EXPECT_TRUE(solution.ok()) << solution.status();
  return {config, tokens, *std::move(solution)};
}

// 2Ha - 1 in double-double.
std::vector<DoubleDouble> Gradient(const Config& config, const TokenList& tokens,
                                   const std::vector<double>& weights) {
  std::vector<DoubleDouble> g(tokens.size(), DoubleDouble{-1, 0});
  for (size_t i = 0; i < tokens.size(); ++i) {
    for (size_t j = 0; j < tokens.size(); ++j) {
      const double k = i == j ? 1.0
                              : ExactKernel(tokens[i]->key.data(), tokens[j]->key.data(),
                                            config.key_dimension, config.gamma);
      g[i] = g[i] + TwoProd(2 * weights[j], k);
    }
    g[i] = g[i] + TwoProd(2 * weights[i], config.ridge);
  }
  return g;
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  double Unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  // [0, 1)

 private:
  std::mt19937_64 engine_;
};

// Weights that anyone might send: near the optimum, near the feasible set, and neither.
std::vector<std::vector<double>> Candidates(const std::vector<double>& optimum, double box) {
  const size_t n = optimum.size();
  Random random(n);
  std::vector<std::vector<double>> out = {optimum};
  for (const double size : {1e-12, 1e-9, 1e-6, 1e-3, 0.1}) {
    std::vector<double> near = optimum;
    for (double& a : near) a *= 1 + size * (2 * random.Unit() - 1);
    out.push_back(near);
    for (double& a : near) a = std::clamp(a + box * size * random.Unit(), 0.0, box);
    const double sum = std::accumulate(near.begin(), near.end(), 0.0);
    for (double& a : near) a /= sum;
    out.push_back(near);
    std::vector<double> moved = optimum;
    const double step = size * box;
    *std::max_element(moved.begin(), moved.end()) -= step;
    *std::min_element(moved.begin(), moved.end()) += step;
    out.push_back(moved);
    for (double& a : moved) a *= 1 + size;
    out.push_back(moved);
  }
  std::vector<double> any(n);
  for (double& a : any) a = random.Unit() - 0.3;
  out.push_back(any);
  out.emplace_back(n, 1.0 / static_cast<double>(n));
  out.emplace_back(n, 0.0);
  out.emplace_back(n, -0x1p+90);
  std::vector<double> single(n, 0.0);
  single[n / 2] = 1;
  out.push_back(single);
  return out;
}

// What is counted over many candidates.
struct Tally {
  size_t reserve = 0;
  size_t error = 0;
  size_t near_bound = 0;  // a tenth of gradient_error would have been wrong
};

void CheckCandidate(const MemoryState& solved, const std::vector<DoubleDouble>& exact,
                    const std::vector<double>& weights, Tally* tally) {
  MemoryState candidate = solved;
  candidate.solution.weights = weights;
  candidate.solution.classes.clear();
  candidate.solution.rho = 77;
  const Screening screening = ScreenTokens(candidate);
  ASSERT_EQ(screening.tokens.size(), weights.size());
  const std::vector<DoubleDouble> g = Gradient(solved.config, solved.tokens, weights);
  double largest = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    largest = std::max(largest, std::fabs((g[i] - exact[i]).hi));
    const TokenClass true_class = solved.solution.classes[i];
    if (screening.tokens[i] == Screened::kReserve) {
      ASSERT_EQ(true_class, TokenClass::kReserve) << i;
      ++tally->reserve;
    }
    if (screening.tokens[i] == Screened::kError) {
      ASSERT_EQ(true_class, TokenClass::kError) << i;
      ++tally->error;
    }
  }
  // `exact` is known to a few ulps only.
  ASSERT_LE(largest, screening.gradient_error + 0x1p-51);
  tally->near_bound += largest > 0.1 * screening.gradient_error ? 1 : 0;
}

class ScreeningTest : public ::testing::TestWithParam<DataKind> {};

TEST_P(ScreeningTest, NeverContradictsTheSolution) {
  Tally tally;
  // Four places in the plane leave no token in reserve; on a line they do.
  const bool places = GetParam() == DataKind::kDuplicates || GetParam() == DataKind::kNearDuplicates;
  const size_t d = places ? 1 : 2;
  for (const BoxBound& box : testing::kBoxes) {
    for (const double ridge : {1e-8, 1e-6, 0.25, 1.0}) {
      for (const size_t n : {2, 5, 12, 30}) {
        const Config config = testing::MakeConfig(d, 1, box, 0.2, ridge);
        const MemoryState solved = Solved(config, testing::MakeTokens(GetParam(), n, d, 1, n));
        const std::vector<DoubleDouble> exact = Gradient(config, solved.tokens, solved.solution.weights);
        const double largest =
            *std::max_element(solved.solution.weights.begin(), solved.solution.weights.end());
        size_t number = 0;
        for (const std::vector<double>& weights : Candidates(solved.solution.weights, largest)) {
          SCOPED_TRACE(::testing::Message() << "n " << n << " C " << box.min_support << "/" << box.value
                                            << " ridge " << ridge << " candidate " << number++);
          CheckCandidate(solved, exact, weights, &tally);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(tally.reserve, 100U);
  EXPECT_GT(tally.error, 100U);
  EXPECT_GT(tally.near_bound, 100U);
  RecordProperty("reserve", static_cast<int>(tally.reserve));
  RecordProperty("error", static_cast<int>(tally.error));
  RecordProperty("near_bound", static_cast<int>(tally.near_bound));
}

// g'a - min { g'b : b feasible }, exactly.
mpq_class ExactGap(const testing::ExactOptimum& oracle, const std::vector<double>& weights) {
  const size_t n = weights.size();
  std::vector<mpq_class> g(n, mpq_class(-1));
  mpq_class gap;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) g[i] += 2 * oracle.h[i][j] * mpq_class(weights[j]);
    gap += g[i] * mpq_class(weights[i]);
  }
  std::sort(g.begin(), g.end());
  mpq_class rest = 1;
  for (size_t i = 0; i < n && rest > 0; ++i) {
    const mpq_class step = std::min(rest, oracle.box);
    gap -= step * g[i];
    rest -= step;
  }
  return gap;
}

TEST_P(ScreeningTest, TheGapIsAnUpperBoundAndATightOne) {
  for (const BoxBound& box : testing::kBoxes) {
    for (const size_t n : {1, 4, 7}) {
      const Config config = testing::MakeConfig(2, 1, box, 0.2, 0.25);
      MemoryState state = Solved(config, testing::MakeTokens(GetParam(), n, 2, 1, n));
      const auto oracle = testing::SolveByEnumeration(config, state.tokens);
      for (const std::vector<double>& weights : Candidates(state.solution.weights, oracle.box.get_d())) {
        const double distance = std::fabs(std::accumulate(weights.begin(), weights.end(), 0.0) - 1);
        bool inside = true;
        for (const double a : weights) inside = inside && a >= 0 && a <= oracle.box.get_d();
        state.solution.weights = weights;
        const double upper = ScreenTokens(state).gap_upper;
        const mpq_class gap = ExactGap(oracle, weights);
        ASSERT_GE(mpq_class(upper), gap);
        ASSERT_LE(upper, inside ? gap.get_d() + 1.5 * distance * (1 + 1e-8) + 1e-13 : HUGE_VAL);
      }
    }
  }
}

std::string KindName(const ::testing::TestParamInfo<DataKind>& info) { return testing::Name(info.param); }
INSTANTIATE_TEST_SUITE_P(Kinds, ScreeningTest, ::testing::ValuesIn(testing::kAllDataKinds), KindName);

TEST(ScreenTokensTest, ProvesNearlyAllGaussianTokensFromTheRoundedOptimum) {
  const Config config = testing::MakeConfig(8, 1, {26, 0}, 0.1);
  const MemoryState state = Solved(config, testing::MakeTokens(DataKind::kGaussian, 800, 8, 1, 2));
  const Screening screening = ScreenTokens(state);
  EXPECT_LT(screening.gap_upper, 1e-13);
  size_t open = 0;
  for (size_t i = 0; i < state.tokens.size(); ++i) {
    const bool margin = state.solution.classes[i] == TokenClass::kMargin;
    open += screening.tokens[i] == Screened::kOpen && !margin ? 1 : 0;
    EXPECT_TRUE(!margin || screening.tokens[i] == Screened::kOpen);
  }
  EXPECT_EQ(open, 0U);
}

// With C = 1/4, and four tokens at the box, both orders are next to each other.
TEST(ScreenTokensTest, ProvesAVertexWithoutMarginTokens) {
  const Config config = testing::MakeConfig(2, 1, {0, 0.25}, 0.1);
  TokenList tokens = testing::MakeTokens(DataKind::kSymmetric, 5, 2, 1, 1);
  const MemoryState state = Solved(config, tokens);
  EXPECT_EQ(state.solution.classes[0], TokenClass::kReserve);
  const Screening screening = ScreenTokens(state);
  EXPECT_EQ(screening.tokens, (std::vector<Screened>{Screened::kReserve, Screened::kError, Screened::kError,
                                                     Screened::kError, Screened::kError}));
}

TEST(ScreenTokensTest, ACoarseSolutionStillProvesMostTokens) {
  const Config config = testing::MakeConfig(8, 1, {26, 0}, 0.1);
  MemoryState state = Solved(config, testing::MakeTokens(DataKind::kGaussian, 800, 8, 1, 2));
  for (double& a : state.solution.weights) a = static_cast<double>(static_cast<float>(a));
  const Screening screening = ScreenTokens(state);
  const auto open = std::count(screening.tokens.begin(), screening.tokens.end(), Screened::kOpen);
  EXPECT_LT(open, 160);
  EXPECT_GT(screening.gap_upper, 1e-10);
}

TEST(ScreenTokensTest, UpToOneOverCTokensAreAtTheBoxWhateverTheWeights) {
  const Config config = testing::MakeConfig(2, 1, {0, 0.125}, 0.2);
  for (const size_t n : {1, 7, 8, 9}) {
    MemoryState state = Solved(config, testing::MakeTokens(DataKind::kGaussian, n, 2, 1, 1));
    state.solution.weights.assign(n, std::numeric_limits<double>::quiet_NaN());
    EXPECT_EQ(ScreenTokens(state).tokens,
              std::vector<Screened>(n, n <= 8 ? Screened::kError : Screened::kOpen));
  }
}

TEST(ScreenTokensTest, UnusableWeightsProveNothing) {
  const Config config = testing::MakeConfig(2, 1, {2, 0}, 0.2);
  const MemoryState solved = Solved(config, testing::MakeTokens(DataKind::kGaussian, 20, 2, 1, 1));
  const auto count_open = [](const Screening& s) {
    return std::count(s.tokens.begin(), s.tokens.end(), Screened::kOpen);
  };
  ASSERT_LT(count_open(ScreenTokens(solved)), 20);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL, 1e300}) {
    MemoryState state = solved;
    state.solution.weights[7] = bad;
    const Screening screening = ScreenTokens(state);
    EXPECT_EQ(count_open(screening), 20);
    EXPECT_EQ(screening.gap_upper, HUGE_VAL);
    EXPECT_EQ(screening.gradient_error, HUGE_VAL);
  }
  MemoryState state = solved;
  state.solution.weights.pop_back();
  EXPECT_EQ(count_open(ScreenTokens(state)), 20);
  state.solution.weights.clear();
  EXPECT_EQ(count_open(ScreenTokens(state)), 20);
}

TEST(ScreenTokensTest, AnEmptyMemoryHasNothingToProve) {
  const Screening screening = ScreenTokens({testing::MakeConfig(2, 1, {2, 0}), {}, {}});
  EXPECT_TRUE(screening.tokens.empty());
  EXPECT_EQ(screening.gap_upper, 0);
}

}  // namespace
}  // namespace expunge::solver
