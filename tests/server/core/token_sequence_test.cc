#include "server/core/token_sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace expunge::core {
namespace {

constexpr uint32_t kSeed = 20261201;

std::shared_ptr<const HeldToken> MakeToken(const std::string& id) {
  HeldToken held;
  held.token = std::make_shared<const solver::Token>(solver::Token{id, {}, {}});
  return std::make_shared<const HeldToken>(std::move(held));
}

// The same as a plain map, which is in the order of the ids, too.
using Oracle = std::map<std::string, std::shared_ptr<const HeldToken>>;

HeldTokens TokensOf(const Oracle& oracle) {
  HeldTokens tokens;
  for (const auto& [id, held] : oracle) tokens.push_back(held);
  return tokens;
}

void ExpectEqual(const TokenSequence& sequence, const HeldTokens& expected) {
  ASSERT_EQ(sequence.size(), expected.size());
  EXPECT_EQ(sequence.empty(), expected.empty());
  size_t place = 0;
  for (const auto& held : sequence) {
    ASSERT_EQ(held, expected[place]);
    ASSERT_EQ(sequence[place], expected[place]);
    ASSERT_EQ(sequence.Place(held->token->id), place);
    // The next string after the id.
    ASSERT_EQ(sequence.Place(held->token->id + '\0'), place + 1);
    ++place;
  }
  EXPECT_EQ(place, expected.size());
  EXPECT_EQ(sequence.Place(""), 0U);
  // By the invariants, two neighbours have at least twice kMinChunk tokens.
  EXPECT_LE(sequence.chunks(), expected.size() / TokenSequence::kMinChunk + 1);
}

class TokenSequenceTest : public ::testing::Test {
 protected:
  void SetUp() override { std::cout << "seed " << kSeed << "\n"; }

  // Mostly one or two, sometimes many.
  size_t Size() { return random_() % 4 != 0 ? 1 + random_() % 2 : random_() % 1500; }

  void Add() {
    // A prefix makes whole batches fall into one part of the order.
    const std::string prefix(1, static_cast<char>('a' + random_() % 8));
    Oracle added;
    for (size_t i = Size(); i > 0; --i) {
      const std::string id = (i % 3 == 0 ? "" : prefix) + std::to_string(random_());
      if (oracle_.count(id) == 0) added[id] = MakeToken(id);
    }
    sequence_ = sequence_.With(TokensOf(added));
    oracle_.merge(added);
  }

  void Remove() {
    // Places next to each other, or anywhere.
    std::vector<size_t> places;
    const size_t size = std::min(Size(), oracle_.size());
    if (random_() % 2 == 0) {
      const size_t first = random_() % (oracle_.size() - size + 1);
      for (size_t i = 0; i < size; ++i) places.push_back(first + i);
    } else {
      for (size_t i = 0; i < size; ++i) places.push_back(random_() % oracle_.size());
      std::sort(places.begin(), places.end());
      places.erase(std::unique(places.begin(), places.end()), places.end());
    }
    const HeldTokens before = TokensOf(oracle_);
    for (const size_t place : places) oracle_.erase(before[place]->token->id);
    sequence_ = sequence_.Without(places);
  }

  std::mt19937 random_{kSeed};
  Oracle oracle_;
  TokenSequence sequence_;
};

TEST_F(TokenSequenceTest, IsWhatAPlainListWouldBeAfterAnyChanges) {
  size_t largest = 0;
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    // Grows, shrinks to little or nothing, and grows again.
    const bool grow = round % 80 < 40 ? random_() % 4 != 0 : random_() % 4 == 0;
    if (grow || oracle_.empty()) {
      Add();
    } else {
      Remove();
    }
    ExpectEqual(sequence_, TokensOf(oracle_));
    if (HasFatalFailure()) return;
    largest = std::max(largest, oracle_.size());
  }
  EXPECT_GT(largest, 5 * TokenSequence::kMaxChunk);
}

TEST_F(TokenSequenceTest, CopiesStayWhatTheyWere) {
  std::vector<std::pair<TokenSequence, HeldTokens>> snapshots;
  for (int round = 0; round < 40; ++round) {
    if (round % 3 != 2 || oracle_.empty()) {
      Add();
    } else {
      Remove();
    }
    snapshots.emplace_back(sequence_, TokensOf(oracle_));
  }
  for (const auto& [sequence, tokens] : snapshots) ExpectEqual(sequence, tokens);
}

TEST_F(TokenSequenceTest, CanBeEmptiedAtOnceAndFilledAgain) {
  ExpectEqual(TokenSequence(), {});
  ExpectEqual(TokenSequence(HeldTokens()), {});
  for (const size_t count :
       {size_t{1}, TokenSequence::kMaxChunk, TokenSequence::kMaxChunk + 1, size_t{3000}}) {
    oracle_.clear();
    for (size_t i = 0; i < count; ++i) {
      const std::string id = "t" + std::to_string(i);
      oracle_[id] = MakeToken(id);
    }
    const TokenSequence full(TokensOf(oracle_));
    ExpectEqual(full, TokensOf(oracle_));
    std::vector<size_t> places(count);
    for (size_t i = 0; i < count; ++i) places[i] = i;
    const TokenSequence none = full.Without(places);
    ExpectEqual(none, {});
    ExpectEqual(none.With(TokensOf(oracle_)), TokensOf(oracle_));
    ExpectEqual(full.With({}), TokensOf(oracle_));
    ExpectEqual(full.Without({}), TokensOf(oracle_));
  }
}

}  // namespace
}  // namespace expunge::core
