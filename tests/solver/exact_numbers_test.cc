#include "solver/exact_numbers.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/support/dense_oracle.h"

namespace expunge::solver {
namespace {

Rational FromGmp(const mpq_class& x) {
  Rational out;
  fmpq_set_mpq(out, x.get_mpq_t());
  return out;
}

uint64_t Bits(double x) { return std::bit_cast<uint64_t>(x); }

TEST(RoundToDoubleTest, RationalsRoundAsTheOracleSays) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    mpq_class x(static_cast<unsigned long>(random() | 1), static_cast<unsigned long>(random() | 1));
    x.canonicalize();
    const int exponent = static_cast<int>(random() % 2160) - 1110;
    if (exponent >= 0) {
      mpq_mul_2exp(x.get_mpq_t(), x.get_mpq_t(), static_cast<mp_bitcnt_t>(exponent % 900));
    } else {
      mpq_div_2exp(x.get_mpq_t(), x.get_mpq_t(), static_cast<mp_bitcnt_t>(-exponent));
    }
    ASSERT_EQ(Bits(RoundToDouble(FromGmp(x)).value), Bits(testing::NearestDouble(x)));
  }
}

TEST(RoundToDoubleTest, MidpointsGoToEvenAndAreCalledTies) {
  for (const double x :
       {1.0, 1 + 0x1p-52, 0.1, 0x1p-1022, 0x1p-1074, 3 * 0x1p-1074, 0x1.fffffffffffffp-1023}) {
    const double next = std::nextafter(x, 10.0);
    const mpq_class middle = (mpq_class(x) + mpq_class(next)) / 2;
    const RoundedDouble rounded = RoundToDouble(FromGmp(middle));
    EXPECT_TRUE(rounded.tie);
    EXPECT_EQ(Bits(rounded.value), Bits((Bits(x) & 1) == 0 ? x : next));
    const mpq_class beside = middle + mpq_class(x) / mpq_class(0x1p500);
    EXPECT_FALSE(RoundToDouble(FromGmp(beside)).tie);
    EXPECT_EQ(Bits(RoundToDouble(FromGmp(beside)).value), Bits(next));
  }
}

TEST(RoundToDoubleTest, HalfTheSmallestSubnormalIsATieToZero) {
  const mpq_class half = mpq_class(std::numeric_limits<double>::denorm_min()) / 2;
  EXPECT_EQ(Bits(RoundToDouble(FromGmp(half)).value), Bits(0.0));
  EXPECT_TRUE(RoundToDouble(FromGmp(half)).tie);
  EXPECT_EQ(RoundToDouble(FromGmp(half * 3 / 2)).value, std::numeric_limits<double>::denorm_min());
}

TEST(RoundToDoubleTest, ABallAroundAMidpointIsUndecided) {
  Ball ball;
  arb_set_d(ball, 1.0);
  Ball shift;
  arb_set_d(shift, 0x1p-53);
  arb_add(ball, ball, shift, 200);  // midway between 1 and the next double
  const auto known = RoundToDouble(ball);
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->value, 1.0);
  EXPECT_TRUE(known->tie);
  arb_add_error_2exp_si(ball, -90);
  EXPECT_FALSE(RoundToDouble(ball).has_value());
  Ball beside;
  arb_set_d(beside, 1 + 0x1p-52);
  arb_add_error_2exp_si(beside, -90);
  ASSERT_TRUE(RoundToDouble(beside).has_value());
  EXPECT_EQ(RoundToDouble(beside)->value, 1 + 0x1p-52);
}

TEST(RoundToDoubleTest, TinyAndIndeterminateBallsAreHandled) {
  Ball tiny;
  arb_one(tiny);
  arb_mul_2exp_si(tiny, tiny, -100000);
  ASSERT_TRUE(RoundToDouble(tiny).has_value());
  EXPECT_EQ(RoundToDouble(tiny)->value, 0.0);
  EXPECT_EQ(LowerBound(tiny), 0.0);
  Ball indeterminate;
  arb_indeterminate(indeterminate);
  EXPECT_FALSE(RoundToDouble(indeterminate).has_value());
  EXPECT_TRUE(std::isinf(LowerBound(indeterminate)));
}

TEST(LowerBoundTest, IsBelowAndNear) {
  const mpq_class third(1, 3);
  const double bound = LowerBound(FromGmp(third));
  EXPECT_LT(mpq_class(bound), third);
  EXPECT_GT(mpq_class(std::nextafter(bound, 1)), third);
}

}  // namespace
}  // namespace expunge::solver
