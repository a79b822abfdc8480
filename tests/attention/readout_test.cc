#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <thread>

#include "attention/cpu/cpu_engine.h"
#include "solver/reference_solver.h"
#include "tests/support/data.h"
#include "tests/support/dense_oracle.h"
#include "tests/support/real.h"

namespace expunge::attention {
namespace {

using testing::DataKind;
using testing::Real;

solver::MemoryState Solved(const solver::Config& config, solver::TokenList tokens) {
  auto solution = solver::SolveFromNothing(config, tokens);
  EXPECT_TRUE(solution.ok());
  return {config, std::move(tokens), *std::move(solution)};
}

uint64_t Bits(double x) { return std::bit_cast<uint64_t>(x); }

// |output - o*(q)|_2 with the exact weights, the exact kernel and 600 bits for everything else.
double ExactError(const solver::MemoryState& state, const testing::ExactOptimum& oracle,
                  const std::vector<double>& query, const std::vector<double>& output) {
  const size_t dv = state.config.value_dimension;
  mpfr_set_emin(mpfr_get_emin_min());  // exp(-1e12) is nothing special
  std::vector<Real> sums(dv);
  Real total;
  Real term;
  Real product;
  for (size_t i = 0; i < state.tokens.size(); ++i) {
    mpq_class t = 0;
    for (size_t k = 0; k < query.size(); ++k) {
      const mpq_class difference = mpq_class(query[k]) - mpq_class(state.tokens[i]->key[k]);
      t += difference * difference;
    }
    t *= mpq_class(state.config.gamma);
    mpfr_set_q(term.get(), t.get_mpq_t(), MPFR_RNDN);
    mpfr_neg(term.get(), term.get(), MPFR_RNDN);
    mpfr_exp(term.get(), term.get(), MPFR_RNDN);
    mpfr_mul_q(term.get(), term.get(), oracle.weights[i].get_mpq_t(), MPFR_RNDN);
    mpfr_add(total.get(), total.get(), term.get(), MPFR_RNDN);
    for (size_t k = 0; k < dv; ++k) {
      mpfr_mul_d(product.get(), term.get(), state.tokens[i]->value[k], MPFR_RNDN);
      mpfr_add(sums[k].get(), sums[k].get(), product.get(), MPFR_RNDN);
    }
  }
  double norm = 0;
  for (size_t k = 0; k < dv; ++k) {
    mpfr_div(term.get(), sums[k].get(), total.get(), MPFR_RNDN);
    mpfr_sub_d(term.get(), term.get(), output[k], MPFR_RNDN);
    norm = std::hypot(norm, mpfr_get_d(term.get(), MPFR_RNDA));  // squares may underflow
  }
  return norm;
}

class ReadoutTest : public ::testing::TestWithParam<DataKind> {};

TEST_P(ReadoutTest, StaysWithinItsBoundOfTheExactReadout) {
  for (const size_t n : {1, 3, 6}) {
    for (const solver::BoxBound& box : testing::kBoxes) {
      const solver::Config config = testing::MakeConfig(2, 3, box);
      const solver::MemoryState state = Solved(config, testing::MakeTokens(GetParam(), n, 2, 3, n));
      const auto oracle = testing::SolveByEnumeration(config, state.tokens);
      const SupportSet support(state);
      for (const double scale : {0.0, 1.0, 10.0, 1e3, 1e6}) {
        const std::vector<double> query = {scale * 0.6, -0.8 * scale};
        const CertifiedReadout result = ReadCertified(support, query, false);
        const double error = ExactError(state, oracle, query, result.output);
        ASSERT_TRUE(std::isfinite(result.error_bound));
        ASSERT_LE(error, result.error_bound) << "n " << n << " scale " << scale;
      }
    }
  }
}

std::string KindName(const ::testing::TestParamInfo<DataKind>& info) { return testing::Name(info.param); }
INSTANTIATE_TEST_SUITE_P(Kinds, ReadoutTest, ::testing::ValuesIn(testing::kAllDataKinds), KindName);

// Squares of such values are 0 in doubles.
TEST(SupportSetTest, TheBoundHoldsForTinyValues) {
  for (const double scale : {1e-170, 1e-200, 1e-310}) {
    const solver::Config config = testing::MakeConfig(2, 3, {2, 0});
    solver::TokenList tokens = testing::MakeTokens(DataKind::kGaussian, 6, 2, 3, 4);
    for (auto& token : tokens) {
      auto small = std::make_shared<solver::Token>(*token);
      for (double& v : small->value) v *= scale;
      token = small;
    }
    const solver::MemoryState state = Solved(config, tokens);
    const auto oracle = testing::SolveByEnumeration(config, state.tokens);
    const CertifiedReadout result = ReadCertified(SupportSet(state), std::vector<double>{0.3, 0.1}, false);
    const double error = ExactError(state, oracle, {0.3, 0.1}, result.output);
    ASSERT_GT(error, 0.0);
    EXPECT_LE(error, result.error_bound) << scale;
    EXPECT_LT(result.error_bound, scale * 1e-10 + 1e-320) << scale;
  }
}

TEST(SupportSetTest, TheBoundIsUsefulNearTheData) {
  const solver::MemoryState state =
      Solved(testing::MakeConfig(4, 2, {5, 0}), testing::MakeTokens(DataKind::kGaussian, 100, 4, 2, 1));
  const SupportSet support(state);
  EXPECT_LT(ReadCertified(support, state.tokens[3]->key, false).error_bound, 1e-11);
}

TEST(SupportSetTest, AFarQueryGetsTheValueOfTheNearestToken) {
  const solver::MemoryState state =
      Solved(testing::MakeConfig(1, 1, {1, 0}), testing::MakeTokens(DataKind::kGaussian, 12, 1, 1, 3));
  const SupportSet support(state);
  for (const double far : {1e3, 1e10, 1e150, -1e150}) {
    size_t nearest = 0;
    for (size_t i = 0; i < state.tokens.size(); ++i) {
      if (state.solution.weights[i] == 0) continue;
      if (state.solution.weights[nearest] == 0 ||
          std::fabs(far - state.tokens[i]->key[0]) < std::fabs(far - state.tokens[nearest]->key[0])) {
        nearest = i;
      }
    }
    const CertifiedReadout result = ReadCertified(support, std::vector<double>{far}, false);
    ASSERT_TRUE(std::isfinite(result.output[0]));
    EXPECT_LE(std::fabs(result.output[0] - state.tokens[nearest]->value[0]), result.error_bound) << far;
    EXPECT_NEAR(result.decision_value, state.solution.rho - 1, 1e-12);
  }
}

TEST(SupportSetTest, TheDecisionValueIsZeroOnTheMarginUpToTheRidge) {
  const solver::Config config = testing::MakeConfig(4, 1, {5, 0});
  const solver::MemoryState state = Solved(config, testing::MakeTokens(DataKind::kGaussian, 80, 4, 1, 7));
  const SupportSet support(state);
  for (size_t i = 0; i < state.tokens.size(); ++i) {
    const double f = ReadCertified(support, state.tokens[i]->key, false).decision_value;
    const double expected = -2 * config.ridge * state.solution.weights[i];
    if (state.solution.classes[i] == solver::TokenClass::kMargin) {
      EXPECT_NEAR(f, expected, 1e-13);
    }
    if (state.solution.classes[i] == solver::TokenClass::kError) {
      EXPECT_LE(f, expected + 1e-13);
    }
    if (state.solution.classes[i] == solver::TokenClass::kReserve) {
      EXPECT_GE(f, expected - 1e-13);
    }
  }
}

TEST(SupportSetTest, ContributionsAreASortedPartitionOfOneOverTheSupport) {
  const solver::MemoryState state =
      Solved(testing::MakeConfig(3, 1, {4, 0}), testing::MakeTokens(DataKind::kClustered, 60, 3, 1, 2));
  const SupportSet support(state);
  const CertifiedReadout result = ReadCertified(support, state.tokens[0]->key, true);
  EXPECT_EQ(result.contributions.size(), support.size());
  double total = 0;
  double value = 0;
  for (size_t i = 0; i < result.contributions.size(); ++i) {
    const Contribution& c = result.contributions[i];
    EXPECT_NE(state.solution.classes[c.token], solver::TokenClass::kReserve);
    if (i > 0) {
      EXPECT_GE(result.contributions[i - 1].weight, c.weight);
    }
    total += c.weight;
    value += c.weight * state.tokens[c.token]->value[0];
  }
  EXPECT_NEAR(total, 1.0, 1e-14);
  EXPECT_NEAR(value, result.output[0], 1e-13);
  EXPECT_TRUE(ReadCertified(support, state.tokens[0]->key, false).contributions.empty());
}

TEST(SupportSetTest, ThreadsGetTheSameBits) {
  const solver::MemoryState state =
      Solved(testing::MakeConfig(3, 4, {4, 0}), testing::MakeTokens(DataKind::kGaussian, 60, 3, 4, 2));
  const SupportSet support(state);
  const CertifiedReadout expected = ReadCertified(support, state.tokens[5]->key, true);
  std::vector<std::thread> threads;
  std::vector<int> different(4, 0);
  for (size_t t = 0; t < different.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int repeat = 0; repeat < 200; ++repeat) {
        const CertifiedReadout result = ReadCertified(support, state.tokens[5]->key, true);
        for (size_t k = 0; k < 4; ++k)
          different[t] += Bits(result.output[k]) != Bits(expected.output[k]) ? 1 : 0;
        different[t] += Bits(result.decision_value) != Bits(expected.decision_value) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::accumulate(different.begin(), different.end(), 0), 0);
}

TEST(SupportSetTest, AnEmptyMemoryHasAnEmptySupport) {
  EXPECT_TRUE(SupportSet(Solved(testing::MakeConfig(3, 4, {4, 0}), {})).empty());
}

}  // namespace
}  // namespace expunge::attention
