#include "attention/support_set.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/attention/readout_problem.h"

namespace expunge::attention {
namespace {

constexpr long double kLog2E = 1.442695040888963407359924681001892137L;

bool Aligned(const void* array) { return reinterpret_cast<uintptr_t>(array) % 64 == 0; }

TEST(SupportSetTest, PacksKeysByPanelsAndPadsThemHarmlessly) {
  for (const size_t m : {1, 15, 16, 17, 40}) {
    const RandomProblem problem = MakeProblem({m, 5, 3}, m);
    const PackedSupport<double>& packed = problem.support->certified();
    ASSERT_EQ(packed.tokens, m);
    ASSERT_EQ(packed.panels, (m + 15) / 16);
    ASSERT_EQ(packed.value_stride, 16U);
    EXPECT_TRUE(Aligned(packed.key_panels) && Aligned(packed.bias) && Aligned(packed.values));
    for (size_t i = 0; i < packed.panels * kPanel; ++i) {
      for (size_t k = 0; k < 5; ++k) {
        const double element = packed.key_panels[((i / kPanel) * 5 + k) * kPanel + i % kPanel];
        ASSERT_EQ(element, i < m ? problem.plain.keys[i * 5 + k] : 0.0);
      }
      if (i >= m) {
        ASSERT_EQ(packed.bias[i], -std::numeric_limits<double>::infinity());
        continue;
      }
      ASSERT_NEAR(packed.bias[i], std::log(problem.plain.weights[i]), 4e-15);
      for (size_t k = 0; k < 16; ++k) {
        ASSERT_EQ(packed.values[i * 16 + k], k < 3 ? problem.plain.values[i * 3 + k] : 0.0);
      }
    }
    std::vector<double> keys(m * 5);
    std::vector<double> values(m * 3);
    problem.support->CopyRows(keys.data(), values.data());
    EXPECT_EQ(keys, problem.plain.keys);
    EXPECT_EQ(values, problem.plain.values);
  }
}

TEST(SupportSetTest, LeavesOutWeightsThatAreZero) {
  std::vector<solver::Token> tokens(3);
  for (solver::Token& token : tokens) {
    token.key = {static_cast<double>(&token - tokens.data())};
    token.value = {1.0};
  }
  solver::Config config;
  config.key_dimension = 1;
  config.value_dimension = 1;
  config.gamma = 1;
  const SupportSet support(config, {{&tokens[0], 4, 0.5}, {&tokens[1], 7, 0.0}, {&tokens[2], 9, 0.5}}, 0.1,
                           0);
  EXPECT_EQ(support.size(), 2U);
  EXPECT_EQ(support.indices(), absl::MakeConstSpan({4U, 9U}));
  EXPECT_EQ(support.certified().key_panels[1], 2.0);
}

// y_i, b_i, u_i and the centres, as packed_support.h says.
template <typename T>
void ExpectFastForm(const ProblemShape& shape, double tolerance) {
  const RandomProblem problem = MakeProblem(shape, 3);
  const FastForm<T>* form = problem.support->fast<T>();
  ASSERT_NE(form, nullptr);
  ASSERT_EQ(form, problem.support->fast<T>());
  const FastSupport<T>& fast = form->support;
  const PackedSupport<T>& packed = fast.packed;
  EXPECT_TRUE(Aligned(packed.key_panels) && Aligned(packed.bias) && Aligned(packed.values) &&
              Aligned(fast.key_centre) && Aligned(fast.value_centre));
  int exponent = 0;
  EXPECT_EQ(std::frexp(fast.value_scale, &exponent), T{0.5}) << "no power of two";
  const long double s = 2 * problem.plain.gamma * kLog2E;
  double largest = 0;
  for (size_t i = 0; i < shape.m; ++i) {
    long double squares = 0;
    for (size_t k = 0; k < shape.d; ++k) {
      const long double difference =
          static_cast<long double>(problem.plain.keys[i * shape.d + k]) - fast.key_centre[k];
      squares += difference * difference;
      const T y = packed.key_panels[((i / kPanel) * shape.d + k) * kPanel + i % kPanel];
      ASSERT_NEAR(y, s * difference, tolerance * std::fabs(static_cast<double>(s * difference)));
    }
    const long double bias = std::log2(static_cast<long double>(problem.plain.weights[i])) - s / 2 * squares;
    ASSERT_NEAR(packed.bias[i], bias, 4 * tolerance * std::fabs(static_cast<double>(bias)));
    for (size_t k = 0; k < shape.dv; ++k) {
      const double u = packed.values[i * packed.value_stride + k];
      const double difference = problem.plain.values[i * shape.dv + k] - fast.value_centre[k];
      ASSERT_NEAR(u * fast.value_scale, difference, tolerance * std::fabs(difference));
      largest = std::max(largest, std::fabs(u));
    }
  }
  EXPECT_GE(largest, 1);
  EXPECT_LE(largest, 2);
}

TEST(SupportSetTest, FastFormsAreWhatThePackedSupportSays) {
  for (const ProblemShape& shape :
       {ProblemShape{1, 3, 2}, ProblemShape{37, 5, 19}, ProblemShape{20, 2, 2, 1e-8, 1e10, 100}}) {
    ExpectFastForm<float>(shape, 0x1.01p-24);
    ExpectFastForm<double>(shape, 0x1p-50);
  }
}

// s = 2 gamma log2(e) is infinite, and infinity times a difference of 0 is NaN.
TEST(SupportSetTest, AGammaBeyondAllScalesHasNoFastForm) {
  for (const double gamma : {1e308, std::numeric_limits<double>::max()}) {
    solver::Token token;
    token.key = {0.5};
    token.value = {1.0};
    solver::Config config;
    config.key_dimension = 1;
    config.value_dimension = 1;
    config.gamma = gamma;
    const SupportSet support(config, {{&token, 0, 0.5}, {&token, 1, 0.5}}, 0.1, 0);
    EXPECT_EQ(support.fast<float>(), nullptr);
    EXPECT_EQ(support.fast<double>(), nullptr);
  }
}

// Their readout, rounded, might not be a float.
TEST(SupportSetTest, ValuesAtTheEndOfFloatHaveNoFormInFloat) {
  for (const double value : {3.45e38, 3.3e38, -1.0e38}) {
    solver::Token token;
    token.key = {0.5};
    token.value = {value};
    solver::Config config;
    config.key_dimension = 1;
    config.value_dimension = 1;
    config.gamma = 1;
    const SupportSet support(config, {{&token, 0, 1.0}}, 0.1, 0);
    EXPECT_EQ(support.fast<float>(), nullptr);
    EXPECT_NE(support.fast<double>(), nullptr);
  }
}

TEST(SupportSetTest, WhatFloatCannotHoldHasNoFormInFloat) {
  for (const ProblemShape& shape :
       {ProblemShape{5, 3, 2, 1e-45}, ProblemShape{5, 3, 2, 1, 1e60}, ProblemShape{5, 3, 2, 1, 1e-60}}) {
    const RandomProblem problem = MakeProblem(shape, 3);
    EXPECT_EQ(problem.support->fast<float>(), nullptr);
    EXPECT_NE(problem.support->fast<double>(), nullptr);
  }
}

}  // namespace
}  // namespace expunge::attention
