// Every insertion order of small memories gives the same bits, token by token, and those of the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "solver/reference_solver.h"
#include "tests/support/data.h"
#include "tests/support/dense_oracle.h"

namespace expunge::solver {
namespace {

using testing::DataKind;

// Solves all n! orders of the tokens and compares each with the oracle. Returns the number of orders.
size_t ExpectEveryOrderMatches(const Config& config, const TokenList& tokens) {
  const auto oracle = testing::SolveByEnumeration(config, tokens);
  std::vector<double> expected(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) expected[i] = testing::NearestDouble(oracle.weights[i]);
  const double rho = testing::NearestDouble(oracle.rho);
  std::vector<size_t> order(tokens.size());
  std::iota(order.begin(), order.end(), 0);
  size_t count = 0;
  do {
    TokenList permuted;
    for (const size_t i : order) permuted.push_back(tokens[i]);
    const auto solution = SolveFromNothing(config, permuted);
    EXPECT_TRUE(solution.ok());
    if (!solution.ok()) return count;
    bool same = std::bit_cast<uint64_t>(solution->rho) == std::bit_cast<uint64_t>(rho);
    for (size_t k = 0; k < order.size(); ++k) {
      same = same && static_cast<char>(solution->classes[k]) == oracle.classes[order[k]] &&
             std::bit_cast<uint64_t>(solution->weights[k]) == std::bit_cast<uint64_t>(expected[order[k]]);
    }
    EXPECT_TRUE(same) << "order " << count;
    if (!same) return count;
    ++count;
  } while (std::next_permutation(order.begin(), order.end()));
  return count;
}

class OrderTest : public ::testing::TestWithParam<DataKind> {};

TEST_P(OrderTest, SixTokensInEveryOrder) {
  for (const BoxBound& box : testing::kBoxes) {
    const Config config = testing::MakeConfig(2, 1, box);
    EXPECT_EQ(ExpectEveryOrderMatches(config, testing::MakeTokens(GetParam(), 6, 2, 1, 6)), 720U);
  }
}

TEST_P(OrderTest, EightTokensInEveryOrder) {
  for (const BoxBound box : {BoxBound{0, 0.25}, BoxBound{3, 0}}) {
    const Config config = testing::MakeConfig(2, 1, box);
    EXPECT_EQ(ExpectEveryOrderMatches(config, testing::MakeTokens(GetParam(), 8, 2, 1, 8)), 40320U);
  }
}

std::string KindName(const ::testing::TestParamInfo<DataKind>& info) { return testing::Name(info.param); }
INSTANTIATE_TEST_SUITE_P(Kinds, OrderTest, ::testing::ValuesIn(testing::kAllDataKinds), KindName);

}  // namespace
}  // namespace expunge::solver
