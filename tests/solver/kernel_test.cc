#include "solver/kernel.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "solver/cpu.h"
#include "solver/double_double.h"
#include "tests/support/dense_oracle.h"

namespace expunge::solver {
namespace {

uint64_t Bits(double x) { return std::bit_cast<uint64_t>(x); }

struct Pair {
  std::vector<double> x;
  std::vector<double> y;
  double gamma;
};

Pair RandomPair(std::mt19937_64* random, size_t d, double scale) {
  std::normal_distribution<double> normal;
  Pair pair;
  for (size_t k = 0; k < d; ++k) {
    pair.x.push_back(normal(*random));
    pair.y.push_back(pair.x.back() + scale * normal(*random) / std::sqrt(static_cast<double>(d)));
  }
  pair.gamma = std::exp(normal(*random));
  return pair;
}

TEST(DoubleDoubleTest, ProductsAndSumsAreExact) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 20000; ++trial) {
    const double a = normal(random);
    const double b = normal(random) * std::ldexp(1.0, trial % 60 - 30);
    const DoubleDouble p = TwoProd(a, b);
    const DoubleDouble s = TwoSum(a, b);
    ASSERT_EQ(mpq_class(p.hi) + mpq_class(p.lo), mpq_class(a) * mpq_class(b));
    ASSERT_EQ(mpq_class(s.hi) + mpq_class(s.lo), mpq_class(a) + mpq_class(b));
  }
}

TEST(DoubleDoubleTest, OperationsStayWithinTheStatedError) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  const mpq_class bound(kDoubleDoubleError);
  const auto value = [](DoubleDouble x) { return mpq_class(mpq_class(x.hi) + mpq_class(x.lo)); };
  for (int trial = 0; trial < 20000; ++trial) {
    const DoubleDouble a = TwoSum(normal(random), normal(random) * 0x1p-54);
    const DoubleDouble b = TwoSum(normal(random), normal(random) * 0x1p-54);
    const mpq_class product = value(a) * value(b);
    const mpq_class sum = value(a) + value(b);
    ASSERT_LE(abs(value(a * b) - product), bound * abs(product));
    ASSERT_LE(abs(value(a + b) - sum), bound * abs(sum));
    ASSERT_LE(abs(value(a * b.hi) - value(a) * mpq_class(b.hi)), bound * abs(product) * 2);
  }
}

TEST(DoubleDoubleTest, RoundsToHiIsRightAtTheGapBelowAPowerOfTwo) {
  EXPECT_TRUE(RoundsToHi({1.0, 0.0}, 0x1p-55));
  EXPECT_FALSE(RoundsToHi({1.0, 0.0}, 0x1p-54));  // 1 - 2^-54 is midway to the double below
  EXPECT_FALSE(RoundsToHi({1.0, -0x1p-55}, 0x1p-55));
  EXPECT_TRUE(RoundsToHi({1.0, 0x1p-55}, 0x1p-55));
  EXPECT_FALSE(RoundsToHi({1.5, 0.0}, 0x1p-53));
  EXPECT_FALSE(RoundsToHi({0.0, 0.0}, 0x1p-80));
  EXPECT_FALSE(RoundsToHi({1.0, 0.0}, std::numeric_limits<double>::quiet_NaN()));
}

TEST(ExactKernelTest, IsTheNearestDouble) {
  std::mt19937_64 random(3);
  for (const size_t d : {1, 2, 7, 64}) {
    for (const double scale : {1e-300, 1e-9, 1e-3, 1.0, 5.0, 26.0, 1e5}) {
      for (int trial = 0; trial < 20; ++trial) {
        const Pair p = RandomPair(&random, d, scale);
        ASSERT_EQ(Bits(ExactKernel(p.x.data(), p.y.data(), d, p.gamma)),
                  Bits(testing::OracleKernel(p.x, p.y, p.gamma)))
            << "d " << d << " scale " << scale;
      }
    }
  }
}

TEST(ExactKernelTest, FastPathAndBallsAgree) {
  std::mt19937_64 random(4);
  for (const size_t d : {1, 3, 64}) {
    for (const double scale : {1e-8, 0.1, 1.0, 3.0, 20.0}) {
      for (int trial = 0; trial < 1000; ++trial) {
        const Pair p = RandomPair(&random, d, scale);
        ASSERT_EQ(Bits(ExactKernel(p.x.data(), p.y.data(), d, p.gamma)),
                  Bits(ExactKernelByBalls(p.x.data(), p.y.data(), d, p.gamma)));
      }
    }
  }
}

TEST(ExactKernelTest, SubnormalResultsAreRoundedOnce) {
  for (int step = 0; step <= 400; ++step) {
    const std::vector<double> x = {0.0};
    const std::vector<double> y = {std::sqrt(695.0 + 52.0 * step / 400)};
    ASSERT_EQ(Bits(ExactKernel(x.data(), y.data(), 1, 1.0)), Bits(testing::OracleKernel(x, y, 1.0))) << step;
  }
}

TEST(ExactKernelTest, ExtremeArgumentsAreRight) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  const struct {
    double x, y, gamma;
  } kCases[] = {{0, 0, 1},        {1e-300, 0, 1},     {1e-300, 0, 1e308},    {1e-160, 2e-160, 1e308},
                {tiny, 0, 1e308}, {1e150, 0, 1e-308}, {1e150, -1e150, tiny}, {1e150, 0, 1e-300},
                {1e150, 0, 1},    {3e-154, 0, 1e307}, {1, 1 + 0x1p-52, 1},   {1, 1 + 0x1p-52, 1e31},
                {1e-8, 0, 1.0},   {2e-8, 0, 0.25}};
  for (const auto& c : kCases) {
    const std::vector<double> x = {c.x};
    const std::vector<double> y = {c.y};
    EXPECT_EQ(Bits(ExactKernel(&c.x, &c.y, 1, c.gamma)), Bits(testing::OracleKernel(x, y, c.gamma)))
        << c.x << " " << c.y << " " << c.gamma;
  }
}

TEST(ExactKernelTest, IsSymmetric) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 2000; ++trial) {
    const Pair p = RandomPair(&random, 5, 2.0);
    ASSERT_EQ(Bits(ExactKernel(p.x.data(), p.y.data(), 5, p.gamma)),
              Bits(ExactKernel(p.y.data(), p.x.data(), 5, p.gamma)));
  }
}

TEST(ApproxKernelTest, StaysWithinItsBound) {
  std::mt19937_64 random(6);
  for (const size_t d : {1, 6, 64, 500}) {
    for (const double scale : {0.0, 1e-6, 0.5, 2.0, 8.0, 30.0}) {
      for (int trial = 0; trial < 300; ++trial) {
        const Pair p = RandomPair(&random, d, scale);
        double approx = 0;
        ApproxKernelRow(p.x.data(), p.y.data(), d, 1, 1, p.gamma, &approx);
        const double exact = ExactKernel(p.x.data(), p.y.data(), d, p.gamma);
        ASSERT_LE(std::fabs(approx - exact), ApproxKernelError(d, p.gamma))
            << "d " << d << " scale " << scale;
      }
    }
  }
}

// Squares of differences near 2^-512 are subnormal: their absolute error, times a gamma near 2^1024, is felt.
TEST(ApproxKernelTest, StaysWithinItsBoundWhereSquaresAreSubnormal) {
  constexpr size_t kD = 2000;
  const double gamma = std::numeric_limits<double>::max();
  for (const double scale : {0x1.7p-538, 0x1.fp-538, 0x1.7p-520, 0x1p-518}) {
    const std::vector<double> x(kD, scale);
    const std::vector<double> y(kD, 0.0);
    double approx = 0;
    ApproxKernelRow(x.data(), y.data(), kD, 1, 1, gamma, &approx);
    const double exact = ExactKernel(x.data(), y.data(), kD, gamma);
    ASSERT_LE(std::fabs(approx - exact), ApproxKernelError(kD, gamma)) << scale;
  }
}

TEST(ApproxKernelTest, RowsDoNotDependOnTheirLength) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  constexpr size_t kN = 700;
  constexpr size_t kD = 5;
  std::vector<double> columns(kN * kD);
  for (double& x : columns) x = normal(random);
  const std::vector<double> x(kD, 0.25);
  std::vector<double> row(kN);
  ApproxKernelRow(x.data(), columns.data(), kD, kN, kN, 0.7, row.data());
  for (const size_t j : {size_t{0}, size_t{255}, size_t{256}, kN - 1}) {
    double alone = 0;
    ApproxKernelRow(x.data(), columns.data() + j, kD, 1, kN, 0.7, &alone);
    EXPECT_EQ(Bits(alone), Bits(row[j]));
  }
}

TEST(ExpOfNegativeTest, HasTheStatedRelativeError) {
  mpfr_t exact;
  mpfr_init2(exact, 200);
  for (int step = 0; step <= 20000; ++step) {
    const double t = 700.0 * step / 20000 + step % 7 * 1e-9;
    if (t > 700) continue;
    mpfr_set_d(exact, -t, MPFR_RNDN);
    mpfr_exp(exact, exact, MPFR_RNDN);
    mpfr_d_div(exact, ExpOfNegative(t), exact, MPFR_RNDN);
    mpfr_sub_ui(exact, exact, 1, MPFR_RNDN);
    ASSERT_LE(std::fabs(mpfr_get_d(exact, MPFR_RNDN)), 0x1p-49) << t;
  }
  mpfr_clear(exact);
  EXPECT_EQ(ExpOfNegative(0), 1.0);
  EXPECT_EQ(ExpOfNegative(701), 0.0);
  EXPECT_EQ(ExpOfNegative(std::numeric_limits<double>::infinity()), 0.0);
}

// Many at once, in all cases of the single one: far, near, equal, subnormal; with and without wide vectors.
TEST(ExactKernelsTest, AreTheSingleKernels) {
  std::mt19937_64 random(11);
  for (const bool wide : {false, true}) {
    SetWideVectorsForTest(wide);
    for (const size_t d : {1, 3, 64, 300}) {
      for (const double gamma : {0.5, 1e-3, 1e300, 0x1p+1000}) {
        std::vector<std::vector<double>> ys;
        std::vector<double> x(d);
        for (double& value : x) value = std::normal_distribution<double>()(random);
        for (const double scale : {0.0, 1e-300, 1e-160, 1e-9, 1e-3, 1.0, 3.0, 20.0, 26.0, 1e5, 1e150}) {
          for (int trial = 0; trial < 3; ++trial) {
            std::vector<double> y = x;
            for (double& value : y) value += scale * std::normal_distribution<double>()(random);
            if (trial == 2) {
              y.assign(d, 0.0);
              y[0] = scale;
            }
            ys.push_back(y);
          }
        }
        std::vector<const double*> pointers;
        for (const auto& y : ys) pointers.push_back(y.data());
        std::vector<double> out(ys.size());
        ExactKernels(x.data(), pointers.data(), ys.size(), d, gamma, out.data());
        for (size_t i = 0; i < ys.size(); ++i) {
          ASSERT_EQ(Bits(out[i]), Bits(ExactKernel(x.data(), pointers[i], d, gamma)))
              << "d " << d << " gamma " << gamma << " pair " << i << " wide " << wide;
        }
      }
    }
  }
  SetWideVectorsForTest(true);
}

}  // namespace
}  // namespace expunge::solver
