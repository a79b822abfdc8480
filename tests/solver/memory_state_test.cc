#include "solver/memory_state.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "solver/reference_solver.h"
#include "tests/support/data.h"

namespace expunge::solver {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Config Good() { return testing::MakeConfig(3, 2, {2, 0}); }

MemoryState Solved(const Config& config, TokenList tokens) {
  auto solution = SolveFromNothing(config, tokens);
  EXPECT_TRUE(solution.ok());
  return {config, std::move(tokens), *std::move(solution)};
}

TEST(ValidateConfigTest, EveryBadFieldIsNamed) {
  const struct {
    const char* field;
    Reason reason;
    void (*spoil)(Config*);
  } kCases[] = {
      {"key_dimension", Reason::kOutOfRange, [](Config* c) { c->key_dimension = 0; }},
      {"key_dimension", Reason::kOutOfRange, [](Config* c) { c->key_dimension = kMaxDimension + 1; }},
      {"value_dimension", Reason::kOutOfRange, [](Config* c) { c->value_dimension = 0; }},
      {"gamma", Reason::kOutOfRange, [](Config* c) { c->gamma = 0; }},
      {"gamma", Reason::kOutOfRange, [](Config* c) { c->gamma = -1; }},
      {"gamma", Reason::kNotFinite, [](Config* c) { c->gamma = kNan; }},
      {"gamma", Reason::kNotFinite, [](Config* c) { c->gamma = kInf; }},
      {"box_bound", Reason::kOutOfRange,
       [](Config* c) {
         c->box = {0, 0.0};
       }},
      {"box_bound", Reason::kOutOfRange,
       [](Config* c) {
         c->box = {0, -0.5};
       }},
      {"box_bound", Reason::kNotFinite,
       [](Config* c) {
         c->box = {0, kNan};
       }},
      {"min_support", Reason::kOutOfRange,
       [](Config* c) {
         c->box = {(uint32_t{1} << 31) + 1, 0};
       }},
      {"ridge", Reason::kOutOfRange, [](Config* c) { c->ridge = 0.99e-8; }},
      {"ridge", Reason::kOutOfRange, [](Config* c) { c->ridge = 1.5; }},
      {"ridge", Reason::kNotFinite, [](Config* c) { c->ridge = kNan; }},
  };
  EXPECT_TRUE(ValidateConfig(Good()).ok());
  for (const auto& c : kCases) {
    Config config = Good();
    c.spoil(&config);
    const absl::Status status = ValidateConfig(config);
    EXPECT_EQ(GetReason(status), c.reason) << c.field;
    EXPECT_EQ(GetField(status), c.field);
  }
}

TEST(ValidateRidgeTest, TheLimitIsStrict) {
  Config config = Good();
  config.ridge = 0x1p-20;
  EXPECT_TRUE(ValidateRidge(config, (uint64_t{1} << 34) - 1).ok());
  EXPECT_EQ(GetReason(ValidateRidge(config, uint64_t{1} << 34)), Reason::kRidgeTooSmall);
}

TEST(NormalizeKeyTest, RefusesWhatHasNoExactMeaning) {
  const auto reason = [](std::vector<double> key) {
    return GetReason(NormalizeKey(Good(), absl::MakeSpan(key)));
  };
  EXPECT_EQ(reason({1, 2, 3}), std::nullopt);
  EXPECT_EQ(reason({1, 2}), Reason::kDimensionMismatch);
  EXPECT_EQ(reason({1, 2, 3, 4}), Reason::kDimensionMismatch);
  EXPECT_EQ(reason({1, kNan, 3}), Reason::kNotFinite);
  EXPECT_EQ(reason({1, 2, -kInf}), Reason::kNotFinite);
  EXPECT_EQ(reason({1, 2, 1e154}), Reason::kMagnitudeOverflow);
  EXPECT_EQ(reason({1, 2, -1e153}), std::nullopt);
}

TEST(NormalizeKeyTest, TheLargestAcceptedKeysDoNotOverflow) {
  Config config = testing::MakeConfig(kMaxDimension, 1, {2, 0});
  const double limit = std::sqrt(std::numeric_limits<double>::max() / (8.0 * kMaxDimension));
  TokenList tokens;
  for (const double sign : {1.0, -1.0}) {
    auto token = std::make_shared<Token>();
    token->id = sign > 0 ? "a" : "b";
    token->key.assign(kMaxDimension, sign * limit);
    token->value = {1};
    ASSERT_TRUE(NormalizeKey(config, absl::MakeSpan(token->key)).ok());
    tokens.push_back(std::move(token));
  }
  const auto solution = SolveFromNothing(config, tokens);
  ASSERT_TRUE(solution.ok());
  EXPECT_EQ(solution->weights[0], 0.5);
  EXPECT_EQ(solution->weights[1], 0.5);
}

TEST(NormalizeKeyTest, MinusZeroBecomesPlusZero) {
  std::vector<double> key = {-0.0, 1, -0.0};
  ASSERT_TRUE(NormalizeKey(Good(), absl::MakeSpan(key)).ok());
  EXPECT_FALSE(std::signbit(key[0]));
  EXPECT_FALSE(std::signbit(key[2]));
}

TEST(NormalizeValueTest, RefusesNonFiniteAndHugeValues) {
  std::vector<double> value = {1, kInf};
  EXPECT_EQ(GetReason(NormalizeValue(Good(), absl::MakeSpan(value))), Reason::kNotFinite);
  value = {1, 1e300};
  EXPECT_EQ(GetReason(NormalizeValue(Good(), absl::MakeSpan(value))), Reason::kMagnitudeOverflow);
  value = {1};
  EXPECT_EQ(GetReason(NormalizeValue(Good(), absl::MakeSpan(value))), Reason::kDimensionMismatch);
}

// The layout in docs/math/canonical.md, written by hand for one token at key 0 with value 1: a = 1, rho = 1 -
// 2 (1 + ridge).
TEST(FingerprintTest, HasTheDocumentedLayout) {
  Config config = testing::MakeConfig(1, 1, {1, 0}, 1.0, 0.5);
  auto token = std::make_shared<Token>();
  token->id = "a";
  token->key = {0.0};
  token->value = {1.0};
  const std::string fingerprint = ToHex(AsView(Fingerprint(Solved(config, {token}))));
  EXPECT_EQ(fingerprint, "0537d0dcd69f7820dae4cedbc66aed2a19c06f4004ce9d2a741f1282910c37e5");
}

TEST(FingerprintTest, EveryInputChangesIt) {
  const Config config = Good();
  const auto tokens = testing::MakeTokens(testing::DataKind::kGaussian, 5, 3, 2, 1);
  const MemoryState state = Solved(config, tokens);
  const Digest before = Fingerprint(state);
  const auto changed = [&](void (*change)(MemoryState*)) {
    MemoryState other = state;
    change(&other);
    return Fingerprint(other) != before;
  };
  const auto replace = [](MemoryState* s, void (*change)(Token*)) {
    auto token = std::make_shared<Token>(*s->tokens[2]);
    change(token.get());
    s->tokens[2] = token;
  };
  EXPECT_TRUE(changed([](MemoryState* s) { s->config.gamma = std::nextafter(s->config.gamma, 1); }));
  EXPECT_TRUE(changed([](MemoryState* s) { s->config.ridge = 2e-6; }));
  EXPECT_TRUE(changed([](MemoryState* s) { s->config.box.min_support = 3; }));
  EXPECT_TRUE(changed([](MemoryState* s) { s->solution.rho = std::nextafter(s->solution.rho, 9); }));
  EXPECT_TRUE(
      changed([](MemoryState* s) { s->solution.weights[1] = std::nextafter(s->solution.weights[1], 9); }));
  EXPECT_TRUE(changed([](MemoryState* s) {
    s->solution.classes[0] = TokenClass::kReserve;
    s->solution.classes[1] = TokenClass::kReserve;
    s->solution.classes[2] = TokenClass::kReserve;
  }));
  MemoryState other = state;
  replace(&other, [](Token* t) { t->id = "t002x"; });
  EXPECT_NE(Fingerprint(other), before);
  other = state;
  replace(&other, [](Token* t) { t->value[1] = 0; });
  EXPECT_NE(Fingerprint(other), before);
  other = state;
  replace(&other, [](Token* t) { t->key[0] = 0; });
  EXPECT_NE(Fingerprint(other), before);
}

}  // namespace
}  // namespace expunge::solver
