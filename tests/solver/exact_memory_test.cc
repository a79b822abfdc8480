// The memory under change against memories that were solved from nothing, bit by bit. The kinds of data and
// box bounds are those that broke earlier methods: see docs/math/incremental.md, "What goes wrong elsewhere".
#include "solver/exact_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "tests/support/data.h"
#include "tests/support/dense_oracle.h"
#include "tests/support/exact_memory_trial.h"

namespace expunge::solver {
namespace {

using testing::DataKind;
using testing::DifferenceFromReference;
using testing::StateBytes;
using testing::Trial;

std::string KindName(const ::testing::TestParamInfo<DataKind>& info) { return testing::Name(info.param); }

std::shared_ptr<const Token> MakeToken(const std::string& id, std::vector<double> key) {
  auto token = std::make_shared<Token>();
  token->id = id;
  token->key = std::move(key);
  token->value = {1.0};
  return token;
}

class ExactMemoryStreamTest : public ::testing::TestWithParam<DataKind> {};

// Duplicates at ridge 1e-8, lattices and symmetric sets with 1/C an integer, near-duplicates, offsets.
TEST_P(ExactMemoryStreamTest, EveryStateIsThatOfAMemoryThatNeverHeldTheRest) {
  uint64_t seed = 0;
  for (const BoxBound& box : testing::kBoxes) {
    for (const double ridge : {1e-8, 1e-6, 1e-4}) {
      const Config config = testing::MakeConfig(1 + ++seed % 4, 1, box, 0.5, ridge);
      Trial trial(config, testing::MakeTokens(GetParam(), 30, config.key_dimension, 1, seed), seed);
      for (int step = 0; step < 60; ++step) {
        trial.Step();
        ASSERT_EQ(trial.Difference(), "") << "seed " << seed << " step " << step;
      }
      EXPECT_EQ(trial.memory().counters().fallbacks, 0U) << "seed " << seed;
    }
  }
}

// n falls below 1/C and rises above it again, by one and by blocks, down to the last token.
TEST_P(ExactMemoryStreamTest, EmptiesAndFillsInBothDirections) {
  for (const BoxBound& box : testing::kBoxes) {
    const Config config = testing::MakeConfig(2, 1, box);
    Trial trial(config, testing::MakeTokens(GetParam(), 14, 2, 1, 3), 3);
    for (const size_t block : {1, 5, 14}) {
      while (trial.memory().size() < 14) {
        trial.AddRandom(block);
        ASSERT_EQ(trial.Difference(), "") << "block " << block;
      }
      while (trial.memory().size() > 0) {
        trial.RemoveRandom(block);
        ASSERT_EQ(trial.Difference(), "") << "block " << block;
      }
      EXPECT_EQ(trial.memory().rho(), 0.0);
      EXPECT_FALSE(std::signbit(trial.memory().rho()));
    }
    EXPECT_EQ(trial.memory().counters().fallbacks, 0U);
  }
}

// The enumeration shares nothing with either solver.
TEST_P(ExactMemoryStreamTest, AgreesWithTheDenseOracle) {
  for (const BoxBound& box : testing::kBoxes) {
    const Config config = testing::MakeConfig(2, 1, box);
    Trial trial(config, testing::MakeTokens(GetParam(), 7, 2, 1, 4), 4);
    for (int step = 0; step < 12; ++step) {
      trial.Step();
      if (trial.memory().size() == 0) continue;
      const MemoryState state = trial.memory().State();
      const auto oracle = testing::SolveByEnumeration(config, state.tokens);
      for (size_t i = 0; i < state.tokens.size(); ++i) {
        ASSERT_EQ(static_cast<char>(state.solution.classes[i]), oracle.classes[i]);
        ASSERT_EQ(state.solution.weights[i], testing::NearestDouble(oracle.weights[i]));
      }
      ASSERT_EQ(state.solution.rho, testing::NearestDouble(oracle.rho));
      // The proof's bounds against the exact optimum.
      const Proof& proof = state.solution.proof;
      for (size_t i = 0; i < state.tokens.size(); ++i) {
        if (oracle.classes[i] == 'S') {
          const mpq_class room = oracle.box - oracle.weights[i];
          ASSERT_LE(mpq_class(proof.weight_distance_lower), std::min(mpq_class(oracle.weights[i]), room));
        } else if (std::isfinite(proof.margin_lower)) {
          ASSERT_LE(mpq_class(proof.margin_lower), abs(oracle.gradient[i]));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ExactMemoryStreamTest, ::testing::ValuesIn(testing::kAllDataKinds), KindName);

TEST(ExactMemoryTest, ABatchGivesTheStateOfSingleAdditions) {
  for (const DataKind kind : testing::kAllDataKinds) {
    const Config config = testing::MakeConfig(3, 1, {6, 0});
    const TokenList pool = testing::MakeTokens(kind, 120, 3, 1, 8);
    auto at_once = ExactMemory::Create(config);
    auto one_by_one = ExactMemory::Create(config);
    ASSERT_TRUE((*at_once)->Add(pool).ok());
    for (const auto& token : pool) ASSERT_TRUE((*one_by_one)->Add({token}).ok());
    EXPECT_EQ(Fingerprint((*at_once)->State()), Fingerprint((*one_by_one)->State()));
    EXPECT_EQ(DifferenceFromReference(**at_once, pool), "");
    EXPECT_EQ((*at_once)->counters().cold_starts, 1U);
  }
}

TEST(ExactMemoryTest, OpensFromAnyPartition) {
  const Config config = testing::MakeConfig(3, 1, {6, 0});
  MemoryState state;
  state.config = config;
  state.tokens = testing::MakeTokens(DataKind::kGaussian, 40, 3, 1, 9);
  for (const TokenClass token_class : {TokenClass::kMargin, TokenClass::kError, TokenClass::kReserve}) {
    state.solution.classes.assign(40, token_class);
    const auto memory = ExactMemory::Open(state);
    ASSERT_TRUE(memory.ok()) << memory.status();
    EXPECT_EQ(DifferenceFromReference(**memory, state.tokens), "");
    EXPECT_EQ((*memory)->counters().fallbacks, 0U);
  }
}

// Tokens that neither carry weight nor would: nothing but the count changes, and no system is solved.
TEST(ExactMemoryTest, ReserveTokensComeAndGoWithoutASolve) {
  const Config config = testing::MakeConfig(2, 1, {4, 0}, 2.0);
  TokenList pool = testing::MakeTokens(DataKind::kGaussian, 200, 2, 1, 10);
  const auto memory = ExactMemory::Create(config);
  ASSERT_TRUE((*memory)->Add(pool).ok());
  const uint64_t iterations = (*memory)->counters().iterations;
  // Beside the deepest of all, and the same again.
  const auto eviction =
      (*ExactMemory::Open((*memory)->State()))->Evict({EvictionRequest::Choice::kDownTo, 199, {}});
  ASSERT_TRUE(eviction.ok());
  const auto deepest = std::find_if(
      pool.begin(), pool.end(), [&](const auto& token) { return token->id == eviction->dropped.front(); });
  const std::vector<double> inside = {(*deepest)->key[0] + 1e-4, (*deepest)->key[1]};
  pool.push_back(MakeToken("inside", inside));
  pool.push_back(MakeToken("inside again", inside));
  for (size_t i = 200; i < 202; ++i) ASSERT_TRUE((*memory)->Add({pool[i]}).ok());
  EXPECT_EQ((*memory)->counters().iterations, iterations);
  EXPECT_EQ(DifferenceFromReference(**memory, pool), "");
  ASSERT_TRUE((*memory)->Remove({"inside"}).ok());
  ASSERT_TRUE((*memory)->Remove({"inside again"}).ok());
  EXPECT_EQ((*memory)->counters().iterations, iterations);
  pool.resize(200);
  EXPECT_EQ(DifferenceFromReference(**memory, pool), "");
}

// C = 0.2, the double, is a little more than 1/5: five tokens that are alike weigh 1/5 < C, which rounds to
// C.
TEST(ExactMemoryTest, AWeightThatRoundsToTheBoxStaysInTheMargin) {
  const Config config = testing::MakeConfig(5, 1, {0, 0.2});
  TokenList tokens;
  for (size_t i = 0; i < 5; ++i) {
    std::vector<double> axis(5, 0.0);
    axis[i] = 1;
    tokens.push_back(MakeToken("axis" + std::to_string(i), axis));
  }
  const auto memory = ExactMemory::Create(config);
  for (const auto& token : tokens) ASSERT_TRUE((*memory)->Add({token}).ok());
  EXPECT_EQ(DifferenceFromReference(**memory, tokens), "");
  EXPECT_EQ((*memory)->counters().fallbacks, 0U);
  for (const SupportEntry& entry : (*memory)->Support()) {
    EXPECT_EQ(entry.token_class, TokenClass::kMargin);
    EXPECT_EQ(entry.weight, 0.2);
  }
}

TEST(ExactMemoryTest, CountsTheRungsThatItNeeds) {
  SolverCounters sum;
  for (const DataKind kind : testing::kAllDataKinds) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const Config config =
          testing::MakeConfig(1 + seed % 4, 1, testing::kBoxes[seed % std::size(testing::kBoxes)], 0.5, 1e-8);
      Trial trial(config, testing::MakeTokens(kind, 30, config.key_dimension, 1, seed), seed);
      for (int step = 0; step < 40; ++step) trial.Step();
      const SolverCounters& counters = trial.memory().counters();
      sum.proof_pivots += counters.proof_pivots;
      sum.eigenvalue_bound += counters.eigenvalue_bound;
      sum.componentwise_bound += counters.componentwise_bound;
      sum.higher_precision += counters.higher_precision;
      sum.ties += counters.ties;
      sum.fallbacks += counters.fallbacks;
    }
  }
  EXPECT_GT(sum.proof_pivots, 0U);
  EXPECT_GT(sum.eigenvalue_bound, 0U);
  EXPECT_GT(sum.componentwise_bound, 0U);
  EXPECT_GT(sum.higher_precision, 0U);
  EXPECT_GT(sum.ties, 0U);
  EXPECT_EQ(sum.fallbacks, 0U);
}

// More changes of class than allowed: the reference solver takes over, and the answer is the same.
TEST(ExactMemoryTest, FallsBackToTheReferenceSolver) {
  const Config config = testing::MakeConfig(3, 1, {4, 0});
  ExactMemoryOptions options;
  options.max_set_changes = 1;
  Trial trial(config, testing::MakeTokens(DataKind::kGaussian, 40, 3, 1, 11), 11, options);
  for (int step = 0; step < 60; ++step) {
    trial.Step();
    ASSERT_EQ(trial.Difference(), "");
  }
  EXPECT_GT(trial.memory().counters().fallbacks, 0U);
}

TEST(ExactMemoryTest, SolvesTheBorderedSystemForEveryToken) {
  const Config config = testing::MakeConfig(3, 1, {4, 0});
  TokenList tokens = testing::MakeTokens(DataKind::kGaussian, 25, 3, 1, 12);
  for (size_t i = 0; i < 5; ++i) tokens.push_back(MakeToken("copy" + std::to_string(i), tokens[i]->key));
  const auto memory = ExactMemory::Create(config);
  ASSERT_TRUE((*memory)->Add(tokens).ok());
  std::vector<SupportEntry> margin = (*memory)->Support();
  margin.erase(std::remove_if(margin.begin(), margin.end(),
                              [](const SupportEntry& e) { return e.token_class != TokenClass::kMargin; }),
               margin.end());
  ASSERT_GT(margin.size(), 3U);
  std::vector<double> rhs(margin.size());
  for (size_t i = 0; i < rhs.size(); ++i) rhs[i] = std::cos(static_cast<double>(i));
  std::vector<double> z(margin.size());
  double zeta = 0;
  (*memory)->SolveBordered(rhs, 0.25, absl::MakeSpan(z), &zeta);
  long double mass = -0.25L;
  double largest = 0;
  for (const double x : z) largest = std::max(largest, std::fabs(x));
  for (size_t i = 0; i < margin.size(); ++i) {
    mass += z[i];
    long double residual =
        -static_cast<long double>(rhs[i]) - zeta + config.ridge * static_cast<long double>(z[i]);
    for (size_t j = 0; j < margin.size(); ++j) {
      residual += static_cast<long double>(z[j]) *
                  testing::OracleKernel(margin[i].token->key, margin[j].token->key, config.gamma);
    }
    EXPECT_LT(std::fabs(static_cast<double>(residual)), 1e-14 * (1 + largest));
  }
  EXPECT_LT(std::fabs(static_cast<double>(mass)), 1e-14 * (1 + largest));
}

class ExactMemoryErrorTest : public ::testing::Test {
 protected:
  ExactMemoryErrorTest() : memory_(*ExactMemory::Create(testing::MakeConfig(2, 1, {3, 0}))) {
    EXPECT_TRUE(memory_->Add(testing::MakeTokens(DataKind::kGaussian, 12, 2, 1, 13)).ok());
    before_ = StateBytes(*memory_);
  }

  // `status` is an error of this kind, and nothing has changed.
  void ExpectRefused(const absl::Status& status, Reason reason, const std::string& field) {
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(GetReason(status), reason) << status;
    EXPECT_EQ(GetField(status), field);
    EXPECT_EQ(StateBytes(*memory_), before_);
  }

  std::unique_ptr<ExactMemory> memory_;
  std::string before_;
};

TEST_F(ExactMemoryErrorTest, BadTokensAreRefusedAsAWhole) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const auto good = MakeToken("new", {0.5, 0.5});
  const auto with_value = [](double value) {
    auto token = std::make_shared<Token>(*MakeToken("v", {0.0, 0.0}));
    token->value = {value};
    return std::shared_ptr<const Token>(token);
  };
  ExpectRefused(memory_->Add({good, MakeToken("b", {0.0, nan})}), Reason::kNotFinite, "tokens[1].key");
  ExpectRefused(memory_->Add({good, MakeToken("b", {infinity, 0.0})}), Reason::kNotFinite, "tokens[1].key");
  ExpectRefused(memory_->Add({good, MakeToken("b", {1e300, 0.0})}), Reason::kMagnitudeOverflow,
                "tokens[1].key");
  ExpectRefused(memory_->Add({good, MakeToken("b", {0.0})}), Reason::kDimensionMismatch, "tokens[1].key");
  ExpectRefused(memory_->Add({good, with_value(nan)}), Reason::kNotFinite, "tokens[1].value");
  ExpectRefused(memory_->Add({good, nullptr}), Reason::kFieldMissing, "tokens[1]");
  ExpectRefused(memory_->Add({good, MakeToken("t003", {0.0, 0.0})}), Reason::kTokenExists, "tokens[1].id");
  ExpectRefused(memory_->Add({good, good}), Reason::kDuplicateInBatch, "tokens[1].id");
}

TEST_F(ExactMemoryErrorTest, BadIdsAreRefusedAsAWhole) {
  ExpectRefused(memory_->Remove({"t000", "nobody"}), Reason::kTokenUnknown, "ids[1]");
  ExpectRefused(memory_->Remove({"t000", "t001", "t000"}), Reason::kDuplicateInBatch, "ids[2]");
  const std::string support = memory_->Support().front().token->id;
  ExpectRefused(memory_->Evict({EvictionRequest::Choice::kNamed, 0, {"nobody"}}).status(),
                Reason::kTokenUnknown, "ids[0]");
  ExpectRefused(memory_->Evict({EvictionRequest::Choice::kNamed, 0, {support}}).status(),
                Reason::kTokenInSupport, "ids[0]");
}

TEST_F(ExactMemoryErrorTest, NothingToDoChangesNothing) {
  EXPECT_TRUE(memory_->Add({}).ok());
  EXPECT_TRUE(memory_->Remove({}).ok());
  EXPECT_EQ(StateBytes(*memory_), before_);
}

TEST_F(ExactMemoryErrorTest, ABadConfigurationIsRefused) {
  Config config = testing::MakeConfig(2, 1, {3, 0});
  config.ridge = 1e-9;
  EXPECT_EQ(GetField(ExactMemory::Create(config).status()), "ridge");
  config.ridge = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(ExactMemory::Create(config).ok());
}

TEST(ExactMemoryTest, NegativeZerosAreZeros) {
  const auto memory = ExactMemory::Create(testing::MakeConfig(2, 1, {2, 0}));
  ASSERT_TRUE((*memory)->Add({MakeToken("a", {-0.0, 1.0}), MakeToken("b", {0.0, 1.0})}).ok());
  for (const auto& token : (*memory)->State().tokens) EXPECT_FALSE(std::signbit(token->key[0]));
}

}  // namespace
}  // namespace expunge::solver
