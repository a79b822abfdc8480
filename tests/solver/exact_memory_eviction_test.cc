// Dropping reserve tokens changes no bit, and its claim lasts no longer than is proven.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "solver/exact_memory.h"
#include "solver/kernel.h"
#include "solver/reference_solver.h"
#include "tests/support/data.h"
#include "tests/support/exact_memory_trial.h"

namespace expunge::solver {
namespace {

using testing::DataKind;
using testing::DifferenceFromReference;

std::unique_ptr<ExactMemory> MakeMemory(const Config& config, const TokenList& tokens) {
  auto memory = ExactMemory::Create(config);
  EXPECT_TRUE(memory.ok());
  EXPECT_TRUE((*memory)->Add(tokens).ok());
  return *std::move(memory);
}

TokenList Without(const TokenList& tokens, const std::vector<std::string>& ids) {
  TokenList rest;
  for (const auto& token : tokens) {
    if (std::find(ids.begin(), ids.end(), token->id) == ids.end()) rest.push_back(token);
  }
  return rest;
}

// The bits of weights and rho, by id.
std::vector<std::pair<std::string, double>> Bits(const ExactMemory& memory) {
  std::vector<std::pair<std::string, double>> bits{{"", memory.rho()}};
  for (const SupportEntry& entry : memory.Support()) bits.emplace_back(entry.token->id, entry.weight);
  return bits;
}

TEST(EvictionTest, DroppingAllReserveTokensChangesNoBit) {
  for (const DataKind kind : testing::kAllDataKinds) {
    for (const BoxBound& box : testing::kBoxes) {
      const Config config = testing::MakeConfig(2, 1, box);
      const TokenList tokens = testing::MakeTokens(kind, 40, 2, 1, 21);
      const auto memory = MakeMemory(config, tokens);
      const auto before = Bits(*memory);
      const auto eviction = memory->Evict({});
      ASSERT_TRUE(eviction.ok());
      EXPECT_EQ(Bits(*memory), before);
      EXPECT_EQ(memory->size() + eviction->dropped.size(), 40U);
      EXPECT_EQ(eviction->dropped.empty(), memory->scope() == Scope::kFullHistory);
      EXPECT_EQ(DifferenceFromReference(*memory, Without(tokens, eviction->dropped)), "");
      // It lives on as a memory of the retained tokens.
      const std::string id = memory->Support().front().token->id;
      ASSERT_TRUE(memory->Remove({id}).ok());
      std::vector<std::string> gone = eviction->dropped;
      gone.push_back(id);
      EXPECT_EQ(DifferenceFromReference(*memory, Without(tokens, gone)), "");
    }
  }
}

TEST(EvictionTest, TheDeepestGoFirst) {
  const Config config = testing::MakeConfig(2, 1, {4, 0}, 2.0);
  const TokenList tokens = testing::MakeTokens(DataKind::kGaussian, 60, 2, 1, 22);
  const auto memory = MakeMemory(config, tokens);
  const std::vector<SupportEntry> support = memory->Support();
  const auto depth = [&](const Token& token) {
    double sum = 0;
    for (const SupportEntry& entry : support)
      sum += entry.weight * ExactKernel(entry.token->key.data(), token.key.data(), 2, config.gamma);
    return sum;
  };
  const auto eviction = memory->Evict({EvictionRequest::Choice::kDownTo, 45, {}});
  ASSERT_TRUE(eviction.ok());
  EXPECT_EQ(memory->size(), 45U);
  EXPECT_EQ(eviction->dropped.size(), 15U);
  double shallowest = 2;
  double deepest_left = 0;
  const std::set<std::string> dropped(eviction->dropped.begin(), eviction->dropped.end());
  for (const auto& token : tokens) {
    if (dropped.contains(token->id)) {
      shallowest = std::min(shallowest, depth(*token));
    } else if (std::none_of(support.begin(), support.end(),
                            [&](const auto& e) { return e.token == token; })) {
      deepest_left = std::max(deepest_left, depth(*token));
    }
  }
  EXPECT_GT(shallowest, deepest_left);
}

// Equal keys are equally deep: the larger ids go, whatever the order in which they came.
TEST(EvictionTest, TheChoiceDependsOnTheStateAlone) {
  const Config config = testing::MakeConfig(2, 1, {3, 0});
  TokenList tokens = testing::MakeTokens(DataKind::kDuplicates, 40, 2, 1, 23);
  const TokenList spread = testing::MakeTokens(DataKind::kSymmetric, 30, 2, 1, 23);
  for (const auto& token : spread) {
    auto other = std::make_shared<Token>(*token);
    other->id = "s" + token->id;
    tokens.push_back(other);
  }
  std::vector<std::string> expected;
  for (int order = 0; order < 4; ++order) {
    const auto memory = ExactMemory::Create(config);
    for (const auto& token : tokens) ASSERT_TRUE((*memory)->Add({token}).ok());
    const auto eviction = (*memory)->Evict({EvictionRequest::Choice::kDownTo, 50, {}});
    ASSERT_TRUE(eviction.ok());
    if (order == 0) expected = eviction->dropped;
    EXPECT_EQ(eviction->dropped, expected);
    std::rotate(tokens.begin(), tokens.begin() + 17, tokens.end());
  }
}

TEST(EvictionTest, NothingToDropIsNoSelection) {
  const Config config = testing::MakeConfig(2, 1, {50, 0});
  const auto memory = MakeMemory(config, testing::MakeTokens(DataKind::kGaussian, 10, 2, 1, 24));
  const auto eviction = memory->Evict({});
  ASSERT_TRUE(eviction.ok());
  EXPECT_TRUE(eviction->dropped.empty());
  EXPECT_FALSE(eviction->selection.has_value());
  EXPECT_EQ(memory->scope(), Scope::kFullHistory);
}

// While the horizon holds, a memory that had kept the dropped tokens would have them all in reserve.
TEST(EvictionTest, TheHorizonNeverHoldsTooLong) {
  int held = 0;
  int expired = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Config config = testing::MakeConfig(2, 1, {8, 0}, 2.0);
    TokenList tokens = testing::MakeTokens(DataKind::kGaussian, 60, 2, 1, seed);
    const auto memory = MakeMemory(config, tokens);
    const auto eviction = memory->Evict({EvictionRequest::Choice::kDownTo, 57, {}});
    ASSERT_TRUE(eviction.ok());
    ASSERT_EQ(eviction->selection, 0U);
    EXPECT_TRUE(memory->EvaluateHorizon(0).holds);
    for (int step = 0; step < 6; ++step) {
      const SupportEntry gone = memory->Support()[seed % memory->Support().size()];
      ASSERT_TRUE(memory->Remove({gone.token->id}).ok());
      tokens = Without(tokens, {gone.token->id});
      const Horizon horizon = memory->EvaluateHorizon(0);
      (horizon.holds ? held : expired) += 1;
      if (!horizon.holds) continue;
      const auto with_dropped = SolveFromNothing(config, tokens);
      ASSERT_TRUE(with_dropped.ok());
      for (size_t i = 0; i < tokens.size(); ++i) {
        const bool dropped =
            std::binary_search(eviction->dropped.begin(), eviction->dropped.end(), tokens[i]->id);
        EXPECT_TRUE(!dropped || with_dropped->classes[i] == TokenClass::kReserve);
      }
    }
  }
  EXPECT_GT(held, 0);
  EXPECT_GT(expired, 0);
}

// The keys of removed tokens are let go of, also by selections.
TEST(EvictionTest, SelectionsDoNotKeepRemovedTokensAlive) {
  const Config config = testing::MakeConfig(2, 1, {8, 0}, 2.0);
  TokenList tokens = testing::MakeTokens(DataKind::kGaussian, 60, 2, 1, 25);
  const auto memory = MakeMemory(config, tokens);
  ASSERT_TRUE(memory->Evict({}).ok());
  const std::string id = memory->Support().front().token->id;
  std::weak_ptr<const Token> watched = memory->Support().front().token;
  tokens.clear();
  EXPECT_FALSE(watched.expired());
  ASSERT_TRUE(memory->Remove({id}).ok());
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace expunge::solver
