#include "attention/gradient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "tests/support/data.h"
#include "tests/support/gradient_oracle.h"

namespace expunge::attention {
namespace {

using testing::DataKind;

// What the gradient promises, and what it keeps where rounding the kernel matrix to doubles is not felt: with
// nearly equal keys, 2^-54 / ridge is (docs/math/gradient.md).
constexpr double kPromised = 1e-9;
constexpr double kUsual = 1e-12;

std::unique_ptr<solver::ExactMemory> MakeMemory(const solver::Config& config,
                                                const solver::TokenList& tokens) {
  auto memory = solver::ExactMemory::Create(config);
  EXPECT_TRUE(memory.ok()) << memory.status();
  const absl::Status added = (*memory)->Add(tokens);
  EXPECT_TRUE(added.ok()) << added;
  return *std::move(memory);
}

std::vector<double> Flatten(const std::vector<std::vector<double>>& rows) {
  std::vector<double> numbers;
  for (const auto& row : rows) numbers.insert(numbers.end(), row.begin(), row.end());
  return numbers;
}

double Largest(const std::vector<double>& numbers) {
  double largest = 0;
  for (const double x : numbers) largest = std::max(largest, std::fabs(x));
  return largest;
}

// Every component within the tolerance of the oracle's, relative to the largest one.
void ExpectClose(const std::string& what, const std::vector<double>& actual,
                 const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  const double scale = Largest(expected);
  ASSERT_GT(scale, 1e-50) << what << ": below the noise of the oracle, nothing to compare";
  double worst = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_TRUE(std::isfinite(actual[i])) << what << " " << i;
    ASSERT_LE(std::fabs(actual[i] - expected[i]), tolerance * scale) << what << " " << i << " of " << scale;
    worst = std::max(worst, std::fabs(actual[i] - expected[i]));
  }
  ::testing::Test::RecordProperty(what + "_error", absl::StrCat(scale > 0 ? worst / scale : worst));
}

void ExpectMatchesCentralDifferences(const solver::ExactMemory& memory,
                                     const std::vector<std::vector<double>>& queries,
                                     const std::vector<std::vector<double>>& upstream,
                                     double tolerance = kUsual) {
  const testing::ReadoutLoss loss{memory.config(), memory.size(), memory.Support(), queries, upstream};
  const testing::LossGradient expected = testing::DifferentiateCentrally(loss);
  for (size_t i = 0; i < expected.weights.size(); ++i) {
    ASSERT_NEAR(loss.support[i].weight, expected.weights[i], kPromised) << "the oracle's partition differs";
  }
  const auto gradient = DifferentiateReadouts(memory, Flatten(queries), Flatten(upstream));
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  ExpectClose("queries", gradient->queries, expected.queries, tolerance);
  ExpectClose("keys", gradient->keys, expected.keys, tolerance);
  ExpectClose("values", gradient->values, expected.values, tolerance);
}

size_t CountOf(const solver::ExactMemory& memory, solver::TokenClass wanted) {
  size_t count = 0;
  for (const solver::SupportEntry& entry : memory.Support()) count += entry.token_class == wanted ? 1 : 0;
  return count;
}

struct Case {
  const char* name;
  DataKind kind;
  size_t n;
  size_t d;
  solver::BoxBound box;
  bool margin;  // whether S, E are expected to have tokens
  bool error;
  double ridge = solver::kDefaultRidge;
  double tolerance = kUsual;
};

class GradientTest : public ::testing::TestWithParam<Case> {};

TEST_P(GradientTest, MatchesCentralDifferencesAtFiveHundredBits) {
  const Case& c = GetParam();
  const solver::Config config = testing::MakeConfig(c.d, 2, c.box, 0.5, c.ridge);
  const auto memory = MakeMemory(config, testing::MakeTokens(c.kind, c.n, c.d, 2, 17));
  EXPECT_EQ(CountOf(*memory, solver::TokenClass::kMargin) > 0, c.margin);
  EXPECT_EQ(CountOf(*memory, solver::TokenClass::kError) > 0, c.error);
  // Queries near the data: the keys of other tokens of the same kind.
  std::vector<std::vector<double>> queries;
  std::vector<std::vector<double>> upstream;
  for (const auto& token : testing::MakeTokens(c.kind, 3, c.d, 2, 18)) {
    queries.push_back(token->key);
    upstream.push_back(token->value);
  }
  ExpectMatchesCentralDifferences(*memory, queries, upstream, c.tolerance);
}

constexpr Case kCases[] = {
    {"GaussianWithoutErrorTokens", DataKind::kGaussian, 30, 3, {0, 1.0}, true, false},
    {"GaussianWithErrorTokens", DataKind::kGaussian, 40, 2, {8, 0}, true, true},
    {"GaussianInHighDimension", DataKind::kGaussian, 20, 6, {18, 0}, true, true},
    {"GaussianWithALargeRidge", DataKind::kGaussian, 30, 3, {16, 0}, true, true, 1e-2},
    {"ClusteredWithErrorTokens", DataKind::kClustered, 32, 3, {8, 0}, true, true},
    {"ClusteredWithoutErrorTokens", DataKind::kClustered, 16, 3, {0, 1.0}, true, false},
    {"OffsetWithErrorTokens", DataKind::kOffset, 40, 3, {18, 0}, true, true},
    {"OffsetWithoutErrorTokens", DataKind::kOffset, 24, 3, {0, 1.0}, true, false},
    {"NearlyEqualKeys", DataKind::kNearDuplicates, 12, 3, {4, 0}, true, false, 1e-6, kPromised},
    {"NearlyEqualKeysWithErrorTokens",
     DataKind::kNearDuplicates,
     14,
     3,
     {12, 0},
     true,
     true,
     1e-6,
     kPromised},
    {"LatticeWithErrorTokens", DataKind::kLattice, 20, 3, {16, 0}, true, true},
    {"EqualKeysOnTheMargin", DataKind::kDuplicates, 12, 3, {4, 0}, true, false},
    {"EqualKeysAmongErrorTokens", DataKind::kDuplicates, 14, 3, {12, 0}, true, true},
    {"WarmUp", DataKind::kGaussian, 8, 3, {0, 0.1}, false, true},
    {"TwoTokens", DataKind::kGaussian, 2, 3, {0, 1.0}, true, false},
};
std::string CaseName(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Cases, GradientTest, ::testing::ValuesIn(kCases), CaseName);

solver::TokenList TokensAt(const std::vector<std::vector<double>>& keys) {
  solver::TokenList tokens;
  for (const std::vector<double>& key : keys) {
    auto token = std::make_shared<solver::Token>();
    const auto i = static_cast<double>(tokens.size());
    token->id = absl::StrCat("t", tokens.size());
    token->key = key;
    token->value = {1 + i * i, -2 * i};
    tokens.push_back(std::move(token));
  }
  return tokens;
}

// Tokens 0 and 1 are equally far from the query but for 0.1 across the line of sight: both stay in the
// softmax. Squared distances are 1e16 and more, and doubles would hold nothing of the difference.
TEST(DifferentiateReadoutsTest, AFarQueryBetweenTwoTokensIsRight) {
  const auto memory =
      MakeMemory(testing::MakeConfig(2, 2, {0, 1.0}),
                 TokensAt({{0.25, 1.0}, {0.25, -1.5}, {-3.0, 0.5}, {-1.0, 0.1}, {-2.0, -2.0}}));
  for (const double far : {1e2, 1e4, 1e6, 1e8}) {
    SCOPED_TRACE(far);
    const std::vector<std::vector<double>> queries = {{far, -0.25 + 0.1}, {far, -0.25 - 0.4}};
    const auto gradient = DifferentiateReadouts(*memory, Flatten(queries), {1.0, 0.5, -0.3, 2.0});
    ASSERT_TRUE(gradient.ok());
    EXPECT_GT(Largest(gradient->queries), 1e-3);  // else nothing would be compared
    ExpectMatchesCentralDifferences(*memory, queries, {{1.0, 0.5}, {-0.3, 2.0}});
  }
}

// Both keys have all bits in use along the line of sight, and the distances to the query balance across it.
TEST(DifferentiateReadoutsTest, AFarQueryAcrossBothAxesIsRight) {
  const double s = 1.0 / 3;
  const auto memory = MakeMemory(testing::MakeConfig(2, 2, {0, 1.0}), TokensAt({{s, -s}, {-s, s + 1e-7}}));
  for (const double far : {1e3, 1e5, 1e7}) {
    SCOPED_TRACE(far);
    ExpectMatchesCentralDifferences(*memory, {{far + 0.1, far}}, {{1.0, -0.5}});
  }
}

TEST(DifferentiateReadoutsTest, AnAstronomicalQueryMovesWithNothing) {
  const auto memory =
      MakeMemory(testing::MakeConfig(3, 2, {4, 0}), testing::MakeTokens(DataKind::kGaussian, 20, 3, 2, 5));
  const auto entries = memory->Support();
  const auto [left, right] =
      std::minmax_element(entries.begin(), entries.end(),
                          [](const auto& a, const auto& b) { return a.token->key[0] < b.token->key[0]; });
  for (const double far : {1e20, 1e100, -1e150}) {
    const auto gradient = DifferentiateReadouts(*memory, {far, 0.0, 0.0}, {1.0, 1.0});
    ASSERT_TRUE(gradient.ok());
    // The softmax is 1 at the token that is nearest along the line of sight: constant.
    EXPECT_EQ(Largest(gradient->queries), 0.0);
    EXPECT_EQ(Largest(gradient->keys), 0.0);
    const auto nearest = static_cast<size_t>((far > 0 ? right : left) - entries.begin());
    for (size_t i = 0; i < entries.size(); ++i) {
      EXPECT_EQ(gradient->values[2 * i], i == nearest ? 1.0 : 0.0) << far;
      EXPECT_EQ(gradient->values[2 * i + 1], i == nearest ? 1.0 : 0.0) << far;
    }
  }
}

TEST(DifferentiateReadoutsTest, OneTokenPassesTheGradientToItsValueAlone) {
  const auto memory = MakeMemory(testing::MakeConfig(2, 2, {0, 1.0}), TokensAt({{0.5, -1.0}}));
  const auto gradient = DifferentiateReadouts(*memory, {0.1, 0.2, 7.0, -30.0}, {1.0, 2.0, 0.25, -5.0});
  ASSERT_TRUE(gradient.ok());
  EXPECT_EQ(gradient->queries, (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(gradient->keys, (std::vector<double>{0, 0}));
  EXPECT_EQ(gradient->values, (std::vector<double>{1.25, -3.0}));
}

TEST(DifferentiateReadoutsTest, AnEmptyBatchHasAZeroGradient) {
  const auto memory = MakeMemory(testing::MakeConfig(2, 2, {0, 1.0}), TokensAt({{0.5, -1.0}, {1.0, 2.0}}));
  const auto gradient = DifferentiateReadouts(*memory, {}, {});
  ASSERT_TRUE(gradient.ok());
  EXPECT_TRUE(gradient->queries.empty());
  EXPECT_EQ(gradient->keys, std::vector<double>(4, 0.0));
  EXPECT_EQ(gradient->values, std::vector<double>(4, 0.0));
}

TEST(DifferentiateReadoutsTest, ReserveTokensHaveNoPartInIt) {
  const auto memory =
      MakeMemory(testing::MakeConfig(3, 2, {4, 0}), testing::MakeTokens(DataKind::kGaussian, 40, 3, 2, 5));
  const size_t m = memory->Support().size();
  ASSERT_LT(m, memory->size());
  const std::vector<double> queries = {0.1, 0.2, 0.3};
  const auto before = DifferentiateReadouts(*memory, queries, {1.0, -1.0});
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(before->keys.size(), m * 3);
  EXPECT_EQ(before->values.size(), m * 2);
  ASSERT_TRUE(memory->Evict({}).ok());
  ASSERT_EQ(memory->size(), m);
  const auto after = DifferentiateReadouts(*memory, queries, {1.0, -1.0});
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(before->queries, after->queries);
  EXPECT_EQ(before->keys, after->keys);
  EXPECT_EQ(before->values, after->values);
}

TEST(DifferentiateReadoutsTest, ACommonOffsetOfTheValuesChangesNoBit) {
  const solver::TokenList tokens = TokensAt({{0.5, 1.0}, {-1.0, 0.25}, {1.5, -0.5}, {0.0, 2.0}});
  solver::TokenList moved;
  for (const auto& token : tokens) {
    auto copy = std::make_shared<solver::Token>(*token);
    for (double& v : copy->value) v += 0x1p40;  // exact: the values are integers
    moved.push_back(std::move(copy));
  }
  const solver::Config config = testing::MakeConfig(2, 2, {0, 1.0});
  const auto plain = DifferentiateReadouts(*MakeMemory(config, tokens), {0.1, 0.2, 9.0, -7.0}, {1, 2, 3, 4});
  const auto offset = DifferentiateReadouts(*MakeMemory(config, moved), {0.1, 0.2, 9.0, -7.0}, {1, 2, 3, 4});
  ASSERT_TRUE(plain.ok() && offset.ok());
  EXPECT_GT(Largest(plain->keys), 0.0);
  EXPECT_EQ(plain->queries, offset->queries);
  EXPECT_EQ(plain->keys, offset->keys);
  EXPECT_EQ(plain->values, offset->values);
}

// A memory that came to its state by other ways has another factor; the gradient is the same but for
// rounding.
TEST(DifferentiateReadoutsTest, IsRightAfterRemovals) {
  solver::TokenList tokens = testing::MakeTokens(DataKind::kGaussian, 30, 3, 2, 9);
  const auto memory = MakeMemory(testing::MakeConfig(3, 2, {4, 0}), tokens);
  for (size_t i = 0; i < 8; ++i) ASSERT_TRUE(memory->Remove({tokens[3 * i]->id}).ok());
  ExpectMatchesCentralDifferences(*memory, {{0.5, -0.5, 0.1}}, {{1.0, -2.0}});
}

void ExpectError(const absl::StatusOr<ReadoutGradient>& result, Reason reason, const std::string& field) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(GetReason(result.status()), reason) << result.status();
  EXPECT_EQ(GetField(result.status()), field);
}

TEST(DifferentiateReadoutsTest, RefusesBadInput) {
  const auto memory = MakeMemory(testing::MakeConfig(2, 2, {0, 1.0}), TokensAt({{0.5, -1.0}, {1.0, 2.0}}));
  const double nan = std::nan("");
  const double infinity = HUGE_VAL;
  ExpectError(DifferentiateReadouts(*memory, {1.0, 2.0, 3.0}, {1.0, 2.0}), Reason::kDimensionMismatch,
              "queries");
  ExpectError(DifferentiateReadouts(*memory, {1.0, 2.0}, {1.0}), Reason::kDimensionMismatch, "upstream");
  ExpectError(DifferentiateReadouts(*memory, {}, {1.0, 2.0}), Reason::kDimensionMismatch, "upstream");
  ExpectError(DifferentiateReadouts(*memory, {0, 0, 1.0, nan}, {0, 0, 1.0, 2.0}), Reason::kNotFinite,
              "queries[1]");
  ExpectError(DifferentiateReadouts(*memory, {1.0, 1e200}, {1.0, 2.0}), Reason::kMagnitudeOverflow,
              "queries[0]");
  ExpectError(DifferentiateReadouts(*memory, {0, 0, 1.0, 2.0}, {0, 0, infinity, 2.0}), Reason::kNotFinite,
              "upstream[1]");
  ExpectError(DifferentiateReadouts(*memory, {1.0, 2.0, 1.0, 2.0}, {1e308, 0, 1e308, 0}), Reason::kOutOfRange,
              "upstream");
}

TEST(DifferentiateReadoutsTest, RefusesAnEmptyMemory) {
  const auto memory = solver::ExactMemory::Create(testing::MakeConfig(2, 2, {0, 1.0}));
  ASSERT_TRUE(memory.ok());
  ExpectError(DifferentiateReadouts(**memory, {1.0, 2.0}, {1.0, 2.0}), Reason::kMemoryEmpty, "");
}

}  // namespace
}  // namespace expunge::attention
