#include "solver/reference_solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "tests/support/data.h"
#include "tests/support/dense_oracle.h"

namespace expunge::solver {
namespace {

using testing::DataKind;

uint64_t Bits(double x) { return std::bit_cast<uint64_t>(x); }

Solution Solve(const Config& config, const TokenList& tokens, const SolveOptions& options = {}) {
  auto solution = SolveFromNothing(config, tokens, options);
  EXPECT_TRUE(solution.ok()) << solution.status();
  return *std::move(solution);
}

void ExpectSameBits(const Solution& a, const Solution& b) {
  ASSERT_EQ(a.classes, b.classes);
  for (size_t i = 0; i < a.weights.size(); ++i)
    ASSERT_EQ(Bits(a.weights[i]), Bits(b.weights[i])) << "token " << i;
  ASSERT_EQ(Bits(a.rho), Bits(b.rho));
}

void ExpectMatchesOracle(const Solution& solution, const testing::ExactOptimum& oracle) {
  for (size_t i = 0; i < solution.weights.size(); ++i) {
    ASSERT_EQ(static_cast<char>(solution.classes[i]), oracle.classes[i]) << "token " << i;
    ASSERT_EQ(Bits(solution.weights[i]), Bits(testing::NearestDouble(oracle.weights[i]))) << "token " << i;
  }
  ASSERT_EQ(Bits(solution.rho), Bits(testing::NearestDouble(oracle.rho)));
}

// Every stated bound holds for the exact optimum.
void ExpectBoundsHold(const Solution& solution, const testing::ExactOptimum& oracle) {
  const Proof& proof = solution.proof;
  const size_t n = oracle.weights.size();
  const bool vertex = std::find(oracle.classes.begin(), oracle.classes.end(), 'S') == oracle.classes.end();
  const bool no_reserve =
      std::find(oracle.classes.begin(), oracle.classes.end(), 'R') == oracle.classes.end();
  uint64_t zero_slacks = 0;
  for (size_t i = 0; i < n; ++i) {
    if (oracle.classes[i] == 'S') {
      ASSERT_LE(proof.weight_distance_lower, oracle.weights[i].get_d() * (1 + 0x1p-50));
      ASSERT_LE(mpq_class(proof.weight_distance_lower), mpq_class(oracle.box - oracle.weights[i]));
    } else if (!(vertex && no_reserve)) {
      ASSERT_LE(mpq_class(proof.margin_lower), abs(oracle.gradient[i]));
      zero_slacks += oracle.gradient[i] == 0 ? 1 : 0;
    }
    if (oracle.classes[i] != 'R' && std::isfinite(proof.eta)) {
      ASSERT_LE(abs(mpq_class(solution.weights[i]) - oracle.weights[i]),
                mpq_class(proof.eta) * mpq_class(solution.weights[i]));
    }
  }
  EXPECT_EQ(proof.strict, zero_slacks == 0);
  EXPECT_GE(proof.ties, zero_slacks);
  // The duality gap of the stored weights, exactly: g'a - min over feasible b of g'b.
  std::vector<mpq_class> g(n, 0);
  mpq_class gap = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) g[i] += 2 * oracle.h[i][j] * mpq_class(solution.weights[j]);
    g[i] += mpq_class(solution.rho) - 1;
    gap += g[i] * mpq_class(solution.weights[i]);
  }
  std::sort(g.begin(), g.end());
  mpq_class rest = 1;
  for (size_t i = 0; i < n && rest > 0; ++i) {
    const mpq_class step = std::min(rest, oracle.box);
    gap -= step * g[i];
    rest -= step;
  }
  ASSERT_LE(abs(gap), mpq_class(proof.duality_gap_upper));
}

class OracleTest : public ::testing::TestWithParam<DataKind> {};

TEST_P(OracleTest, MatchesEnumerationInExactArithmetic) {
  for (const size_t n : {1, 2, 3, 4, 5, 6}) {
    for (const BoxBound& box : testing::kBoxes) {
      for (const double ridge : {1e-8, 1e-6, 0.25}) {
        SCOPED_TRACE(::testing::Message()
                     << "n " << n << " C " << box.min_support << "/" << box.value << " ridge " << ridge);
        const Config config = testing::MakeConfig(2, 1, box, 0.5, ridge);
        const TokenList tokens = testing::MakeTokens(GetParam(), n, 2, 1, n);
        const Solution solution = Solve(config, tokens);
        const auto oracle = testing::SolveByEnumeration(config, tokens);
        ExpectMatchesOracle(solution, oracle);
        ExpectBoundsHold(solution, oracle);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(OracleTest, MatchesEnumerationForEightTokens) {
  for (const BoxBound& box : testing::kBoxes) {
    const Config config = testing::MakeConfig(2, 1, box);
    const TokenList tokens = testing::MakeTokens(GetParam(), 8, 2, 1, 8);
    const auto oracle = testing::SolveByEnumeration(config, tokens);
    ExpectMatchesOracle(Solve(config, tokens), oracle);
    if (HasFatalFailure()) return;
  }
}

TEST_P(OracleTest, EveryArithmeticGivesTheSameBits) {
  for (const size_t n : {3, 9, 20, 40}) {
    for (const BoxBound& box : testing::kBoxes) {
      for (const double ridge : {1e-8, 1e-4}) {
        const Config config = testing::MakeConfig(3, 1, box, 0.5, ridge);
        const TokenList tokens = testing::MakeTokens(GetParam(), n, 3, 1, n);
        const Solution solution = Solve(config, tokens);
        SolveOptions balls;
        balls.lowest = Arithmetic::kBall;
        ExpectSameBits(Solve(config, tokens, balls), solution);
        SolveOptions rationals;
        rationals.lowest = Arithmetic::kRational;
        ExpectSameBits(Solve(config, tokens, rationals), solution);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Enough margin tokens for balls to be refined on a factor instead of eliminated.
TEST_P(OracleTest, EveryArithmeticGivesTheSameBitsForAHundredMarginTokens) {
  const Config config = testing::MakeConfig(3, 1, {2, 0}, 1.0, 1e-4);
  const TokenList tokens = testing::MakeTokens(GetParam(), 120, 3, 1, 9);
  const Solution solution = Solve(config, tokens);
  SolveOptions options;
  options.lowest = Arithmetic::kBall;
  ExpectSameBits(Solve(config, tokens, options), solution);
  options.lowest = Arithmetic::kRational;
  ExpectSameBits(Solve(config, tokens, options), solution);
}

TEST_P(OracleTest, EveryStartingPartitionIsRepaired) {
  for (const BoxBound& box : testing::kBoxes) {
    const Config config = testing::MakeConfig(3, 1, box);
    const TokenList tokens = testing::MakeTokens(GetParam(), 14, 3, 1, 5);
    const Solution solution = Solve(config, tokens);
    for (const TokenClass start : {TokenClass::kMargin, TokenClass::kError, TokenClass::kReserve}) {
      for (const int max_pivots : {0, 200}) {  // 0: straight to the rational active set
        SolveOptions options;
        options.proposal.assign(14, start);
        options.max_pivots = max_pivots;
        ExpectSameBits(Solve(config, tokens, options), solution);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(OracleTest, DuplicatesOfOneTokenShareOneWeight) {
  const Config config = testing::MakeConfig(3, 1, {2, 0});
  TokenList tokens = testing::MakeTokens(GetParam(), 7, 3, 1, 3);
  for (size_t copy = 0; copy < 3; ++copy) {
    auto token = std::make_shared<Token>(*tokens[4]);
    token->id = "u" + std::to_string(copy);
    tokens.push_back(std::move(token));
  }
  const Solution solution = Solve(config, tokens);
  for (size_t copy = 7; copy < 10; ++copy) {
    EXPECT_EQ(Bits(solution.weights[copy]), Bits(solution.weights[4]));
    EXPECT_EQ(solution.classes[copy], solution.classes[4]);
  }
}

std::string KindName(const ::testing::TestParamInfo<DataKind>& info) { return testing::Name(info.param); }
INSTANTIATE_TEST_SUITE_P(Kinds, OracleTest, ::testing::ValuesIn(testing::kAllDataKinds), KindName);

TEST(SolveFromNothingTest, AnEmptyMemoryHasNoWeightsAndRhoZero) {
  const Solution solution = Solve(testing::MakeConfig(2, 1, {2, 0}), {});
  EXPECT_TRUE(solution.weights.empty());
  EXPECT_EQ(Bits(solution.rho), Bits(0.0));
}

// Four weights of 1/4 at ridge 1 would have rho* = 0; one kernel value, the smallest subnormal, makes it
// negative.
TEST(SolveFromNothingTest, ANegativeRhoTooSmallForADoubleBecomesPlusZero) {
  TokenList tokens = testing::MakeTokens(DataKind::kGaussian, 4, 1, 1, 1);
  const std::vector<double> keys = {0, 27.28, 1000, 2000};
  for (size_t i = 0; i < keys.size(); ++i) {
    auto token = std::make_shared<Token>(*tokens[i]);
    token->key = {keys[i]};
    tokens[i] = token;
  }
  const Config config = testing::MakeConfig(1, 1, {1, 0}, 1.0, 1.0);
  const auto oracle = testing::SolveByEnumeration(config, tokens);
  EXPECT_LT(oracle.rho, 0);
  const Solution solution = Solve(config, tokens);
  EXPECT_EQ(Bits(solution.rho), Bits(0.0));
  ExpectMatchesOracle(solution, oracle);
}

TEST(SolveFromNothingTest, TheLastTokenCarriesAllWeight) {
  for (const BoxBound& box : testing::kBoxes) {
    const Solution solution =
        Solve(testing::MakeConfig(2, 1, box), testing::MakeTokens(DataKind::kGaussian, 1, 2, 1, 1));
    EXPECT_EQ(solution.weights[0], 1.0);
    EXPECT_EQ(solution.classes[0], TokenClass::kError);
    EXPECT_EQ(solution.rho, testing::NearestDouble(1 - 2 * (1 + mpq_class(kDefaultRidge))));
  }
}

TEST(SolveFromNothingTest, UpToOneOverCTokensShareTheWeightEqually) {
  const Config config = testing::MakeConfig(2, 1, {0, 0.1});  // 1 / (the double 0.1) < 10
  for (size_t n = 1; n <= 12; ++n) {
    const Solution solution = Solve(config, testing::MakeTokens(DataKind::kGaussian, n, 2, 1, 4));
    const bool warm_up = n <= 9;
    EXPECT_EQ(warm_up, std::all_of(solution.classes.begin(), solution.classes.end(),
                                   [](TokenClass c) { return c == TokenClass::kError; }));
    if (!warm_up) continue;
    for (const double a : solution.weights) EXPECT_EQ(a, 1.0 / static_cast<double>(n));
    EXPECT_TRUE(solution.proof.strict);
  }
}

// C = 1: four tokens so far apart that the kernel vanishes share the weight; with C = 1/4 the same set is a
// vertex.
TEST(SolveFromNothingTest, AVertexWithoutMarginTokensHasTheMidpointRho) {
  TokenList tokens = testing::MakeTokens(DataKind::kDuplicates, 6, 1, 1, 1);
  const std::vector<double> keys = {0, 100, 200, 300, 0.1, 0.1};
  for (size_t i = 0; i < keys.size(); ++i) {
    auto token = std::make_shared<Token>(*tokens[i]);
    token->key = {keys[i]};
    tokens[i] = token;
  }
  const Config config = testing::MakeConfig(1, 1, {0, 0.25}, 1.0, 0.5);
  const Solution solution = Solve(config, tokens);
  ExpectMatchesOracle(solution, testing::SolveByEnumeration(config, tokens));
}

TEST(SolveFromNothingTest, VerticesOccurWhereOneOverCIsAnInteger) {
  size_t vertices = 0;
  for (const DataKind kind : {DataKind::kGaussian, DataKind::kSymmetric}) {
    for (size_t n = 2; n <= 6; ++n) {
      for (const double c : {1.0, 0.5, 0.25}) {
        const Config config = testing::MakeConfig(1, 1, {0, c}, 0.1);
        const TokenList tokens = testing::MakeTokens(kind, n, 1, 1, n);
        const Solution solution = Solve(config, tokens);
        ExpectMatchesOracle(solution, testing::SolveByEnumeration(config, tokens));
        const auto count = [&](TokenClass c1) {
          return std::count(solution.classes.begin(), solution.classes.end(), c1);
        };
        vertices += count(TokenClass::kMargin) == 0 && count(TokenClass::kReserve) > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(vertices, 0U);
}

// The double 0.2 is slightly more than 1/5, so that the margin weights of five equal tokens and one more can
// round to C itself.
TEST(SolveFromNothingTest, TheClassComesFromTheExactWeightNotFromTheRoundedOne) {
  size_t rounded_to_the_box = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Config config = testing::MakeConfig(1, 1, {0, 0.2}, 0.5);
    const TokenList tokens = testing::MakeTokens(seed % 2 == 0 ? DataKind::kSymmetric : DataKind::kLattice,
                                                 5 + seed % 3, 1, 1, seed);
    const Solution solution = Solve(config, tokens);
    ExpectMatchesOracle(solution, testing::SolveByEnumeration(config, tokens));
    for (size_t i = 0; i < tokens.size(); ++i) {
      rounded_to_the_box += solution.classes[i] == TokenClass::kMargin && solution.weights[i] == 0.2 ? 1 : 0;
    }
  }
  EXPECT_GT(rounded_to_the_box, 0U);
}

TEST(SolveFromNothingTest, TiesAreFoundAndCounted) {
  uint64_t ties = 0;
  uint64_t higher_precision = 0;
  for (const DataKind kind : testing::kAllDataKinds) {
    for (size_t n = 2; n <= 6; ++n) {
      for (const BoxBound& box : testing::kBoxes) {
        const Config config = testing::MakeConfig(1, 1, box, 0.1, 0.25);
        const TokenList tokens = testing::MakeTokens(kind, n, 1, 1, n);
        const Solution solution = Solve(config, tokens);
        const auto oracle = testing::SolveByEnumeration(config, tokens);
        ExpectMatchesOracle(solution, oracle);
        ExpectBoundsHold(solution, oracle);
        ties += solution.proof.ties;
        higher_precision += solution.proof.higher_precision;
      }
    }
  }
  EXPECT_GT(ties, 0U);
  EXPECT_GT(higher_precision, 0U);
}

TEST(SolveFromNothingTest, ARidgeTooSmallForTheTokensIsRefused) {
  Config config = testing::MakeConfig(1, 1, {2, 0});
  config.ridge = 0x1p-54;  // below what ValidateConfig admits; the solver checks for itself
  const auto result = SolveFromNothing(config, testing::MakeTokens(DataKind::kGaussian, 2, 1, 1, 1));
  EXPECT_EQ(GetReason(result.status()), Reason::kRidgeTooSmall);
}

TEST(SolveFromNothingTest, AThousandTokensMeetTheKktConditions) {
  for (const DataKind kind : {DataKind::kGaussian, DataKind::kClustered, DataKind::kDuplicates}) {
    const Config config = testing::MakeConfig(8, 1, {26, 0}, 0.1);
    const TokenList tokens = testing::MakeTokens(kind, 1000, 8, 1, 2);
    const Solution solution = Solve(config, tokens);
    EXPECT_NEAR(std::accumulate(solution.weights.begin(), solution.weights.end(), 0.0), 1.0, 1e-12);
    double slack_margin = 0;
    double slack_outside = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
      double g = 2 * config.ridge * solution.weights[i] - 1 + solution.rho;
      for (size_t j = 0; j < tokens.size(); ++j) {
        if (solution.weights[j] == 0) continue;
        double distance = 0;
        for (size_t k = 0; k < 8; ++k) distance += std::pow(tokens[i]->key[k] - tokens[j]->key[k], 2);
        g += 2 * solution.weights[j] * std::exp(-config.gamma * distance);
      }
      if (solution.classes[i] == TokenClass::kMargin) slack_margin = std::max(slack_margin, std::fabs(g));
      if (solution.classes[i] == TokenClass::kError) slack_outside = std::max(slack_outside, g);
      if (solution.classes[i] == TokenClass::kReserve) slack_outside = std::max(slack_outside, -g);
    }
    EXPECT_LT(slack_margin, 1e-12) << testing::Name(kind);
    EXPECT_LT(slack_outside, 1e-12) << testing::Name(kind);
  }
}

// All of them carry weight, hundreds enter S at once, and double-double leaves some roundings open.
TEST(SolveFromNothingTest, FiveHundredNearDuplicatesNeedNoPivot) {
  SolveReport report;
  SolveOptions options;
  options.report = &report;
  const Config config = testing::MakeConfig(8, 1, {26, 0}, 0.1);
  const Solution solution =
      Solve(config, testing::MakeTokens(DataKind::kNearDuplicates, 500, 8, 1, 2), options);
  EXPECT_EQ(std::count(solution.classes.begin(), solution.classes.end(), TokenClass::kMargin), 500);
  EXPECT_GT(solution.proof.higher_precision, 0U);
  EXPECT_EQ(report.pivots, 0U);
}

// As many tokens in S, but 4 unknowns.
TEST(SolveFromNothingTest, FiveThousandDuplicatesAreSolvedAsTheirFewKeys) {
  SolveReport report;
  SolveOptions options;
  options.report = &report;
  const Config config = testing::MakeConfig(8, 1, {26, 0}, 0.1);
  const TokenList tokens = testing::MakeTokens(DataKind::kDuplicates, 5000, 8, 1, 2);
  const Solution solution = Solve(config, tokens, options);
  EXPECT_EQ(report.pivots, 0U);
  EXPECT_EQ(std::count(solution.classes.begin(), solution.classes.end(), TokenClass::kMargin), 5000);
  options.lowest = Arithmetic::kRational;  // out of reach with 5000 unknowns
  ExpectSameBits(Solve(config, tokens, options), solution);
  for (size_t i = 4; i < tokens.size(); ++i)
    ASSERT_EQ(Bits(solution.weights[i]), Bits(solution.weights[i % 4]));
}

// Groups of 1 to 4 tokens: each side of every bound, and the vertices between them.
TEST(SolveFromNothingTest, UnequalGroupsOfDuplicatesMatchTheOracle) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    for (const BoxBound& box : testing::kBoxes) {
      TokenList tokens = testing::MakeTokens(DataKind::kGaussian, 7, 2, 1, seed);
      for (const size_t i : {1, 2, 3}) {  // 0 to 3 alike, and 4 with 5
        auto token = std::make_shared<Token>(*tokens[i]);
        token->key = tokens[0]->key;
        tokens[i] = std::move(token);
      }
      auto token = std::make_shared<Token>(*tokens[5]);
      token->key = tokens[4]->key;
      tokens[5] = std::move(token);
      const Config config = testing::MakeConfig(2, 1, box, 0.5, seed % 2 == 0 ? 1e-8 : 0.25);
      const Solution solution = Solve(config, tokens);
      const auto oracle = testing::SolveByEnumeration(config, tokens);
      ExpectMatchesOracle(solution, oracle);
      ExpectBoundsHold(solution, oracle);
      if (HasFatalFailure()) return;
    }
  }
}

// A dense line: exchanging all tokens at once runs in circles there.
TEST(SolveFromNothingTest, ADenseLineNeedsNoPivot) {
  constexpr size_t kN = 400;
  TokenList tokens = testing::MakeTokens(DataKind::kGaussian, kN, 1, 1, 1);
  for (size_t i = 0; i < kN; ++i) {
    auto token = std::make_shared<Token>(*tokens[i]);
    token->key = {static_cast<double>(i)};
    tokens[i] = std::move(token);
  }
  SolveReport report;
  SolveOptions options;
  options.report = &report;
  const Solution solution = Solve(testing::MakeConfig(1, 1, {26, 0}, 0.1), tokens, options);
  EXPECT_EQ(report.pivots, 0U);
  for (size_t i = 0; i < kN; ++i) {
    // Exact mirror images.
    ASSERT_EQ(Bits(solution.weights[i]), Bits(solution.weights[kN - 1 - i]));
    ASSERT_EQ(solution.classes[i], solution.classes[kN - 1 - i]);
  }
}

}  // namespace
}  // namespace expunge::solver
