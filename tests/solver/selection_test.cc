#include "solver/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "solver/double_double.h"
#include "solver/kernel.h"
#include "solver/reference_solver.h"
#include "tests/support/data.h"

namespace expunge::solver {
namespace {

using testing::DataKind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct State {
  TokenList tokens;
  Solution solution;
};

State Solve(const Config& config, const TokenList& tokens) {
  auto solution = SolveFromNothing(config, tokens);
  EXPECT_TRUE(solution.ok()) << solution.status();
  return {tokens, *std::move(solution)};
}

std::vector<SupportEntry> SupportOf(const State& state) {
  std::vector<SupportEntry> support;
  for (size_t i = 0; i < state.tokens.size(); ++i) {
    if (state.solution.classes[i] == TokenClass::kReserve) continue;
    support.push_back({state.tokens[i], state.solution.classes[i], state.solution.weights[i]});
  }
  return support;
}

// g of a token without weight.
DoubleDouble GradientOf(const Config& config, const State& state, const Token& token) {
  DoubleDouble g = DoubleDouble{state.solution.rho, 0} + -1.0;
  for (const SupportEntry& entry : SupportOf(state)) {
    g = g + TwoProd(2 * entry.weight, ExactKernel(token.key.data(), entry.token->key.data(),
                                                  config.key_dimension, config.gamma));
  }
  return g;
}

TokenList Without(const TokenList& tokens, const TokenList& others) {
  const std::set<std::shared_ptr<const Token>> gone(others.begin(), others.end());
  TokenList rest;
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(rest),
               [&](const auto& token) { return gone.count(token) == 0; });
  return rest;
}

TokenList Joined(TokenList tokens, const TokenList& others) {
  tokens.insert(tokens.end(), others.begin(), others.end());
  return tokens;
}

// A memory from which reserve tokens were dropped.
struct Dropped {
  State before;  // s0, the dropped tokens included
  TokenList tokens;
  double margin_lower = kInfinity;

  [[nodiscard]] Selection MakeSelection(const Config& config) const {
    return {config, SupportOf(before), before.solution.rho, margin_lower, tokens.size()};
  }
};

// Drops the `count` deepest reserve tokens.
Dropped Drop(const Config& config, const TokenList& tokens, size_t count) {
  Dropped out;
  out.before = Solve(config, tokens);
  std::vector<std::pair<double, size_t>> depths;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (out.before.solution.classes[i] != TokenClass::kReserve) continue;
    depths.emplace_back(GradientOf(config, out.before, *tokens[i]).hi, i);
  }
  std::sort(depths.rbegin(), depths.rend());
  depths.resize(std::min(depths.size(), count));
  for (const auto& [depth, i] : depths) {
    out.tokens.push_back(tokens[i]);
    // At the exact weights and rho it differs by at most 3u and a bit.
    out.margin_lower = depth - 0x1p-50;
  }
  return out;
}

// What is counted over many changes.
struct Tally {
  size_t held = 0;
  size_t broken = 0;      // a dropped token would have weight
  size_t near_bound = 0;  // a bound of a tenth would have been wrong
};

void ExpectSameBits(const State& all, const State& retained) {
  for (size_t i = 0; i < all.tokens.size(); ++i) {
    const auto it = std::find(retained.tokens.begin(), retained.tokens.end(), all.tokens[i]);
    if (it == retained.tokens.end()) {
      ASSERT_EQ(all.solution.classes[i], TokenClass::kReserve);
      continue;
    }
    const auto k = static_cast<size_t>(it - retained.tokens.begin());
    ASSERT_EQ(all.solution.classes[i], retained.solution.classes[k]);
    ASSERT_EQ(std::bit_cast<uint64_t>(all.solution.weights[i]),
              std::bit_cast<uint64_t>(retained.solution.weights[k]));
  }
}

void CheckChange(const Config& config, const Dropped& dropped, const TokenList& erased,
                 const TokenList& added, Tally* tally) {
  Selection selection = dropped.MakeSelection(config);
  for (const auto& token : erased) selection.Forget(token->id);
  const TokenList tokens = Joined(Without(Without(dropped.before.tokens, dropped.tokens), erased), added);
  const State after = Solve(config, tokens);
  const Horizon horizon = selection.Evaluate(SupportOf(after), after.solution.rho);
  double largest = 0;
  for (const auto& token : dropped.tokens) {
    const DoubleDouble change =
        GradientOf(config, after, *token) - GradientOf(config, dropped.before, *token);
    largest = std::max(largest, std::fabs(change.hi));
  }
  ASSERT_LE(largest, horizon.movement_upper);
  ASSERT_EQ(horizon.margin_lower, dropped.margin_lower);
  tally->near_bound += largest > 0.1 * horizon.movement_upper ? 1 : 0;

  const State all = Solve(config, Joined(tokens, dropped.tokens));
  tally->held += horizon.holds ? 1 : 0;
  if (horizon.holds) {
    ExpectSameBits(all, after);
    return;
  }
  for (size_t i = tokens.size(); i < all.tokens.size(); ++i) {
    tally->broken += all.solution.classes[i] != TokenClass::kReserve ? 1 : 0;
  }
}

// Erases tokens with and without weight, and adds some, in steps.
void CheckChanges(const Config& config, DataKind kind, uint64_t seed, size_t drop, Tally* tally) {
  constexpr size_t kBefore = 40;
  const TokenList pool = testing::MakeTokens(kind, kBefore + 6, config.key_dimension, 1, seed);
  const TokenList start(pool.begin(), pool.begin() + kBefore);
  const TokenList more(pool.begin() + kBefore, pool.end());
  const Dropped dropped = Drop(config, start, drop);
  if (dropped.tokens.empty()) return;
  const TokenList retained = Without(start, dropped.tokens);
  for (const size_t add : {0, 1, 6}) {
    for (const size_t erase : {0, 1, 2, 9}) {
      if (erase > retained.size()) continue;
      SCOPED_TRACE(::testing::Message()
                   << "seed " << seed << " drop " << drop << " add " << add << " erase " << erase);
      CheckChange(config, dropped, TokenList(retained.begin(), retained.begin() + static_cast<long>(erase)),
                  TokenList(more.begin(), more.begin() + static_cast<long>(add)), tally);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

class HorizonTest : public ::testing::TestWithParam<DataKind> {};

TEST_P(HorizonTest, WhileItHoldsDroppedTokensWouldHaveChangedNoBit) {
  Tally tally;
  // Four places in space leave no token in reserve; on a line they do.
  const bool places = GetParam() == DataKind::kDuplicates || GetParam() == DataKind::kNearDuplicates;
  for (const BoxBound& box : testing::kBoxes) {
    for (const double ridge : {1e-6, 0.25}) {
      for (const size_t drop : {1, 5, 40}) {
        CheckChanges(testing::MakeConfig(places ? 1 : 3, 1, box, 0.2, ridge), GetParam(), drop, drop, &tally);
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(tally.held, 20U);
  EXPECT_GT(tally.near_bound, 20U);
  RecordProperty("held", static_cast<int>(tally.held));
  RecordProperty("broken", static_cast<int>(tally.broken));
  RecordProperty("near_bound", static_cast<int>(tally.near_bound));
}

std::string KindName(const ::testing::TestParamInfo<DataKind>& info) { return testing::Name(info.param); }
INSTANTIATE_TEST_SUITE_P(Kinds, HorizonTest, ::testing::ValuesIn(testing::kAllDataKinds), KindName);

TEST(SelectionTest, TheClaimDoesExpire) {
  Tally tally;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    CheckChanges(testing::MakeConfig(3, 1, {8, 0}, 0.2), DataKind::kGaussian, seed, 40, &tally);
  }
  EXPECT_GT(tally.broken, 20U);
  EXPECT_GT(tally.held, 0U);
}

std::shared_ptr<const Token> MakeToken(const std::string& id, std::vector<double> key) {
  auto token = std::make_shared<Token>();
  token->id = id;
  token->key = std::move(key);
  token->value = {0};
  return token;
}

// `n` keys on a sphere and one in its centre, which has a wide margin.
TokenList SphereAndCentre(size_t n) {
  constexpr size_t kDimension = 16;
  TokenList tokens;
  for (const auto& token : testing::MakeTokens(DataKind::kGaussian, n, kDimension, 1, 4)) {
    std::vector<double> key = token->key;
    double square = 0;
    for (const double x : key) square += x * x;
    for (double& x : key) x /= std::sqrt(square);
    tokens.push_back(MakeToken(token->id, std::move(key)));
  }
  tokens.push_back(MakeToken("z", std::vector<double>(kDimension, 0.0)));
  return tokens;
}

// The movement is as small in both cases; but with fewer than 1/C tokens the centre would share the weight.
TEST(SelectionTest, FewerTokensThanTheBoxNeedsEndTheClaim) {
  for (const auto& [n, enough] : {std::pair<size_t, bool>{42, true}, {40, false}}) {
    const Config config = testing::MakeConfig(16, 1, {0, 0.025}, 0.7);
    const TokenList tokens = SphereAndCentre(n);
    const Dropped dropped = Drop(config, tokens, 1);
    ASSERT_EQ(dropped.tokens, TokenList{tokens.back()});
    Selection selection = dropped.MakeSelection(config);
    selection.Forget(tokens[0]->id);
    const TokenList retained(tokens.begin() + 1, tokens.end() - 1);
    const State after = Solve(config, retained);
    const Horizon horizon = selection.Evaluate(SupportOf(after), after.solution.rho);
    EXPECT_LT(horizon.movement_upper, horizon.margin_lower);
    EXPECT_EQ(horizon.holds, enough);
    const State all = Solve(config, Joined(retained, dropped.tokens));
    EXPECT_EQ(all.solution.classes.back() == TokenClass::kReserve, enough);
  }
}

// Three weights that round to 1/3 fill the box only if C is a little more than 1/3.
TEST(SelectionTest, WhetherTheBoxSufficesIsDecidedExactly) {
  std::vector<SupportEntry> support;
  for (const double x : {0.0, 100.0, 200.0})
    support.push_back({MakeToken("t" + std::to_string(x), {x}), TokenClass::kError, 1.0 / 3});
  const double third = 1.0 / 3;  // below the real 1/3
  for (const auto& [c, enough] : {std::pair<double, bool>{third, false}, {std::nextafter(third, 1), true}}) {
    const Selection selection(testing::MakeConfig(1, 1, {0, c}), support, 0.5, 1.0, 1);
    const Horizon horizon = selection.Evaluate(support, 0.5);
    EXPECT_LT(horizon.movement_upper, 1e-14);
    EXPECT_EQ(horizon.holds, enough);
  }
}

TEST(SelectionTest, AnEmptyMemoryEndsTheClaim) {
  const auto token = MakeToken("a", {0});
  const Selection selection(testing::MakeConfig(1, 1, {1, 0}), {{token, TokenClass::kError, 1.0}}, -1.0, 1e9,
                            1);
  EXPECT_FALSE(selection.Evaluate({}, 0.0).holds);
}

TEST(SelectionTest, WithNothingDroppedTheClaimAlwaysHolds) {
  const auto token = MakeToken("a", {0});
  const Selection selection(testing::MakeConfig(1, 1, {0, 0.1}), {{token, TokenClass::kError, 1.0}}, -1.0,
                            kInfinity, 0);
  EXPECT_TRUE(selection.Evaluate({}, 0.0).holds);
}

TEST(SelectionTest, TheMovementIsTheFormulaAndLittleMore) {
  const Config config = testing::MakeConfig(3, 1, {8, 0}, 0.2);
  const TokenList pool = testing::MakeTokens(DataKind::kGaussian, 50, 3, 1, 9);
  const State s0 = Solve(config, TokenList(pool.begin(), pool.begin() + 40));
  const State s = Solve(config, TokenList(pool.begin() + 3, pool.end()));
  const Selection selection(config, SupportOf(s0), s0.solution.rho, 1.0, 1);
  std::vector<std::pair<const Token*, double>> change;
  for (const SupportEntry& entry : SupportOf(s)) change.emplace_back(entry.token.get(), entry.weight);
  for (const SupportEntry& entry : SupportOf(s0)) change.emplace_back(entry.token.get(), -entry.weight);
  double square = 0;
  for (const auto& [x, a] : change) {
    for (const auto& [y, b] : change) square += a * b * ExactKernel(x->key.data(), y->key.data(), 3, 0.2);
  }
  const double movement = 2 * std::sqrt(square) + std::fabs(s.solution.rho - s0.solution.rho);
  const double upper = selection.Evaluate(SupportOf(s), s.solution.rho).movement_upper;
  EXPECT_GT(upper, movement * (1 - 1e-12));
  EXPECT_LT(upper, movement * (1 + 1e-12));
}

TEST(SelectionTest, NothingMovesAtTheReferenceState) {
  const Config config = testing::MakeConfig(3, 1, {8, 0}, 0.2);
  const State s0 = Solve(config, testing::MakeTokens(DataKind::kGaussian, 40, 3, 1, 9));
  const Selection selection(config, SupportOf(s0), s0.solution.rho, 1e-12, 1);
  const Horizon horizon = selection.Evaluate(SupportOf(s0), s0.solution.rho);
  EXPECT_TRUE(horizon.holds);
  EXPECT_LT(horizon.movement_upper, 1e-14);
  EXPECT_GT(horizon.movement_upper, 0x1p-52);  // the rounding of a and rho
}

TEST(SelectionTest, WeightThatMovesBetweenEqualKeysMovesNothing) {
  const Config config = testing::MakeConfig(1, 1, {1, 0});
  const Selection selection(
      config,
      {{MakeToken("a", {1}), TokenClass::kMargin, 0.5}, {MakeToken("b", {7}), TokenClass::kMargin, 0.5}},
      0.25, 1e-12, 1);
  const std::vector<SupportEntry> later = {{MakeToken("b", {7}), TokenClass::kMargin, 0.5},
                                           {MakeToken("c", {1}), TokenClass::kMargin, 0.25},
                                           {MakeToken("d", {1}), TokenClass::kMargin, 0.25}};
  EXPECT_LT(selection.Evaluate(later, 0.25).movement_upper, 1e-14);
}

TEST(SelectionTest, ForgettingATokenLetsGoOfItAndKeepsItsWeight) {
  const Config config = testing::MakeConfig(1, 1, {1, 0});
  auto a = MakeToken("a", {1});
  const auto b = MakeToken("b", {7});
  const std::weak_ptr<const Token> watch = a;
  Selection selection(config, {{a, TokenClass::kMargin, 0.25}, {b, TokenClass::kMargin, 0.75}}, 0.25, 1.0, 1);
  a.reset();
  const std::vector<SupportEntry> later = {{b, TokenClass::kMargin, 0.75}};
  const double before = selection.Evaluate(later, 0.25).movement_upper;
  selection.Forget("other");
  EXPECT_FALSE(watch.expired());
  selection.Forget("a");
  EXPECT_TRUE(watch.expired());
  const double after = selection.Evaluate(later, 0.25).movement_upper;
  EXPECT_NEAR(before, 0.5, 1e-14);
  EXPECT_GE(after, 0.5);
  EXPECT_LT(after, 0.5 + 1e-14);
  // The same id again is another token.
  const double added =
      selection
          .Evaluate({{b, TokenClass::kMargin, 0.75}, {MakeToken("a", {1}), TokenClass::kMargin, 0.25}}, 0.25)
          .movement_upper;
  EXPECT_NEAR(added, 1.0, 1e-14);
}

TEST(SelectionTest, WeightsThatForgottenTokensHadAddUp) {
  const Config config = testing::MakeConfig(1, 1, {1, 0});
  std::vector<SupportEntry> reference;
  for (int i = 0; i < 1000; ++i)
    reference.push_back({MakeToken("t" + std::to_string(i), {1.0 * i}), TokenClass::kMargin, 0.001});
  Selection selection(config, reference, 0.25, 1.0, 1);
  for (const SupportEntry& entry : reference) selection.Forget(entry.token->id);
  const double movement = selection.Evaluate({}, 0.25).movement_upper;
  EXPECT_GE(movement, 2.0);
  EXPECT_LT(movement, 2.0 + 1e-11);
}

}  // namespace
}  // namespace expunge::solver
