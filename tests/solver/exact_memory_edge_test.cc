// Memories at the edges: weights next to C, ties that come and go, vertices that are alike.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "solver/exact_memory.h"
#include "solver/reference_solver.h"
#include "tests/support/data.h"
#include "tests/support/exact_memory_trial.h"

namespace expunge::solver {
namespace {

using testing::DifferenceFromReference;

std::shared_ptr<const Token> MakeToken(const std::string& id, const std::vector<double>& key) {
  auto token = std::make_shared<Token>();
  token->id = id;
  token->key = key;
  token->value = {1.0};
  return token;
}

// The doubles 0.05, 0.1 and 0.2 are above 1/20, 1/10 and 1/5 by less than half a unit in the last place, so
// that tokens of equal weight stay below C by less than a double shows.
TEST(ExactMemoryEdgeTest, AFullBoxBesideADecimalBoundNeedsNoFallback) {
  for (const double ridge : {1e-8, 1e-6, 0x1.1a78be66f3fb3p-16, 1e-4, 1e-2, 1.0}) {
    for (const double box : {0.05, 0.1, 0.2}) {
      for (int keys = 1; keys <= 4; ++keys) {
        for (const double gamma : {0.5, 1e-300, 1e300}) {
          const auto memory = ExactMemory::Create(testing::MakeConfig(1, 1, {0, box}, gamma, ridge));
          TokenList tokens;
          for (int i = 0; i < std::lround(1 / box); ++i) {
            tokens.push_back(MakeToken("t" + std::to_string(i), {static_cast<double>(i % keys)}));
            ASSERT_TRUE((*memory)->Add({tokens.back()}).ok());
          }
          EXPECT_EQ(DifferenceFromReference(**memory, tokens), "");
          EXPECT_EQ((*memory)->counters().fallbacks, 0U)
              << "ridge " << ridge << ", C " << box << ", " << keys << " keys, gamma " << gamma;
        }
      }
    }
  }
}

// Kernel values of 1/2 at distance 1. The eight corners are in E, the copies far away in S, and the centre in
// R with g = 0 exactly.
class ExactMemoryTieTest : public ::testing::Test {
 protected:
  ExactMemoryTieTest()
      : memory_(*ExactMemory::Create(testing::MakeConfig(4, 1, {12, 0}, std::log(2.0), 1.0))) {
    for (size_t i = 0; i < 8; ++i) {
      std::vector<double> corner(4, 0.0);
      corner[i / 2] = i % 2 == 0 ? 1 : -1;
      tokens_.push_back(MakeToken("corner" + std::to_string(i), corner));
    }
    for (size_t i = 0; i < 7; ++i) tokens_.push_back(MakeToken("far" + std::to_string(i), {100, 0, 0, 0}));
    tokens_.push_back(MakeToken("centre", {0, 0, 0, 0}));
    EXPECT_TRUE(memory_->Add(tokens_).ok());
  }

  void ExpectProofOfReference(uint64_t ties) {
    const MemoryState state = memory_->State();
    const auto expected = SolveFromNothing(state.config, state.tokens);
    ASSERT_TRUE(expected.ok());
    EXPECT_EQ(memory_->proof().ties, ties);
    EXPECT_EQ(expected->proof.ties, ties);
    EXPECT_EQ(memory_->proof().strict, expected->proof.strict);
    EXPECT_EQ(memory_->proof().margin_lower > 0, ties == 0);
  }

  std::unique_ptr<ExactMemory> memory_;
  TokenList tokens_;
};

TEST_F(ExactMemoryTieTest, TheProofForgetsARemovedTie) {
  ExpectProofOfReference(1);
  ASSERT_TRUE(memory_->Add({MakeToken("centre again", {0, 0, 0, 0})}).ok());
  ExpectProofOfReference(2);
  ASSERT_TRUE(memory_->Remove({"centre"}).ok());
  ExpectProofOfReference(1);
  ASSERT_TRUE(memory_->Remove({"centre again"}).ok());
  ExpectProofOfReference(0);
}

TEST_F(ExactMemoryTieTest, TheProofForgetsADroppedTie) {
  const auto eviction = memory_->Evict({});
  ASSERT_TRUE(eviction.ok());
  EXPECT_EQ(eviction->dropped, std::vector<std::string>{"centre"});
  ExpectProofOfReference(0);
}

// AddressSanitizer sees what a thread leaves behind. Ties need rationals, which keep caches.
TEST_F(ExactMemoryTieTest, AThreadThatEndsFreesItsCaches) {
  std::thread([this] {
    const auto memory = ExactMemory::Create(memory_->config());
    for (const auto& token : tokens_) EXPECT_TRUE((*memory)->Add({token}).ok());
    EXPECT_GT((*memory)->counters().higher_precision, 0U);
  }).join();
}

// Kernel values of 0, 1e-300 and 1, groups of several sizes: sums over E that are equal, or differ far below
// what the pass and double-double show.
TEST(ExactMemoryEdgeTest, VerticesOfEqualSumsAreProvenExactly) {
  for (const double gamma : {1e300, 690.7755278982137, 1e-300}) {
    for (const BoxBound box : {BoxBound{0, 1e-3}, BoxBound{0, 0.125}, BoxBound{0, 0.0625}}) {
      const auto memory = ExactMemory::Create(testing::MakeConfig(1, 1, box, gamma));
      TokenList tokens;
      for (int i = 0; i < 24; ++i) {
        tokens.push_back(MakeToken("t" + std::to_string(i * 7 % 24), {static_cast<double>(i * i % 13)}));
        ASSERT_TRUE((*memory)->Add({tokens.back()}).ok());
        ASSERT_EQ(DifferenceFromReference(**memory, tokens), "") << i;
        const auto expected = SolveFromNothing((*memory)->config(), tokens);
        ASSERT_TRUE(expected.ok());
        EXPECT_EQ((*memory)->proof().ties, expected->proof.ties);
        EXPECT_EQ((*memory)->proof().strict, expected->proof.strict);
      }
      EXPECT_EQ((*memory)->counters().fallbacks, 0U);
    }
  }
}

// Two tokens in E, two in R with equal gradients. rho rests on one of them, the one with the least id.
TEST(ExactMemoryEdgeTest, TheAnchorOfAVertexDependsOnTheStateAlone) {
  TokenList tokens = {MakeToken("a", {1, 0}), MakeToken("b", {-1, 0}), MakeToken("c", {0, 0.1}),
                      MakeToken("d", {0, -0.1})};
  std::sort(tokens.begin(), tokens.end());
  do {
    const auto memory = ExactMemory::Create(testing::MakeConfig(2, 1, {0, 0.5}, 0.4));
    for (const auto& token : tokens) ASSERT_TRUE((*memory)->Add({token}).ok());
    const auto eviction = (*memory)->Evict({});
    ASSERT_TRUE(eviction.ok());
    EXPECT_EQ(eviction->dropped, std::vector<std::string>{"d"});
  } while (std::next_permutation(tokens.begin(), tokens.end()));
}

}  // namespace
}  // namespace expunge::solver
