// The exponentials of every vector unit, against MPFR and the C library's long double.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "attention/cpu/fast_rows.h"
#include "tests/attention/readout_problem.h"
#include "tests/support/readout_oracle.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/attention/exponential_test.cc"
#include "hwy/foreach_target.h"
//
#include "attention/cpu/exponential-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace expunge::attention::cpu {
namespace HWY_NAMESPACE {

// In place; the size is a multiple of 16.
void Exp2OfFloats(float* x, size_t count) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) hn::StoreU(Exp2(d, hn::LoadU(d, x + i)), d, x + i);
}
void Exp2OfDoubles(double* x, size_t count) {
  const hn::ScalableTag<double> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) hn::StoreU(Exp2(d, hn::LoadU(d, x + i)), d, x + i);
}
void ExpOfNegatives(double* x, size_t count) {
  const hn::ScalableTag<double> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(ExpOfNegative(d, hn::LoadU(d, x + i)), d, x + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace expunge::attention::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace expunge::attention::cpu {
namespace {

HWY_EXPORT(Exp2OfFloats);
HWY_EXPORT(Exp2OfDoubles);
HWY_EXPORT(ExpOfNegatives);

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// |actual / f(x) - 1| at 120 bits.
double RelativeError(double actual, double x, int (*f)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)) {
  mpfr_t exact;
  mpfr_init2(exact, 120);
  mpfr_set_d(exact, x, MPFR_RNDN);
  f(exact, exact, MPFR_RNDN);
  mpfr_d_div(exact, actual, exact, MPFR_RNDN);
  mpfr_sub_ui(exact, exact, 1, MPFR_RNDN);
  const double error = std::fabs(mpfr_get_d(exact, MPFR_RNDN));
  mpfr_clear(exact);
  return error;
}

TEST(ExponentialTest, PowersOfTwoInFloatAreAsExactAsTheBoundAssumes) {
  std::vector<float> x;
  // Every 97th float from -125 to -2^-24.
  for (uint32_t bits = std::bit_cast<uint32_t>(-0x1p-24F); bits <= std::bit_cast<uint32_t>(-125.0F);
       bits += 97) {
    x.push_back(std::bit_cast<float>(bits));
  }
  x.push_back(0);
  x.push_back(-125);
  while (x.size() % 16 != 0) x.push_back(-0.5F);
  const double allowed = FastArithmeticOf<float>({1, 1, 1}).exp2;
  std::vector<long double> expected(x.begin(), x.end());
  for (long double& y : expected) y = std::exp2(y);
  ForEachVectorUnit([&] {
    std::vector<float> actual = x;
    HWY_DYNAMIC_DISPATCH(Exp2OfFloats)(actual.data(), actual.size());
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      worst = std::max(worst, static_cast<double>(std::fabs(actual[i] / expected[i] - 1)));
    }
    EXPECT_LT(worst, allowed);
    EXPECT_GT(worst, allowed / 8) << "the constant is needlessly large";
    ::testing::Test::RecordProperty("worst", std::to_string(worst / allowed));
  });
}

TEST(ExponentialTest, PowersOfTwoInDoubleAreAsExactAsTheBoundAssumes) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1020, 0);
  std::vector<double> x = {0, -0.5, -1020, -0x1p-60};
  for (int i = 0; i < 60'000; ++i) {
    x.push_back(i % 2 == 0 ? uniform(random) : uniform(random) / 1020);
  }
  while (x.size() % 16 != 0) x.push_back(-0.25);
  const double allowed = FastArithmeticOf<double>({1, 1, 1}).exp2;
  ForEachVectorUnit([&] {
    std::vector<double> actual = x;
    HWY_DYNAMIC_DISPATCH(Exp2OfDoubles)(actual.data(), actual.size());
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      worst = std::max(worst, RelativeError(actual[i], x[i], mpfr_exp2));
    }
    EXPECT_LT(worst, allowed);
    EXPECT_GT(worst, allowed / 8) << "the constant is needlessly large";
  });
}

TEST(ExponentialTest, PowersOfTwoBelowTheRangeAreZero) {
  ForEachVectorUnit([&] {
    std::vector<float> narrow(16, -126);
    narrow[1] = -1e30F;
    narrow[2] = -std::numeric_limits<float>::infinity();
    HWY_DYNAMIC_DISPATCH(Exp2OfFloats)(narrow.data(), narrow.size());
    for (const float x : narrow) EXPECT_EQ(x, 0);
    std::vector<double> wide(16, -1021);
    wide[1] = -1e300;
    wide[2] = -kInfinity;
    HWY_DYNAMIC_DISPATCH(Exp2OfDoubles)(wide.data(), wide.size());
    for (const double x : wide) EXPECT_EQ(x, 0);
  });
}

TEST(ExponentialTest, TheCertifiedOneHasTheBitsOfThePlainLoopsAndItsError) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 700);
  std::vector<double> t = {0, 700, std::nextafter(700, 701), 701, 1e300, kInfinity, 0x1p-1074, 0x1p-53};
  for (int i = 0; i < 60'000; ++i) t.push_back(i % 2 == 0 ? uniform(random) : uniform(random) / 700);
  while (t.size() % 16 != 0) t.push_back(0.25);
  ForEachVectorUnit([&] {
    std::vector<double> actual = t;
    HWY_DYNAMIC_DISPATCH(ExpOfNegatives)(actual.data(), actual.size());
    for (size_t i = 0; i < t.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint64_t>(actual[i]),
                std::bit_cast<uint64_t>(testing::PlainExpOfNegative(t[i])))
          << t[i];
      if (t[i] <= 700) {
        ASSERT_LE(RelativeError(actual[i], -t[i], mpfr_exp), 0x1p-49) << t[i];
      } else {
        ASSERT_EQ(actual[i], 0) << t[i];
      }
    }
  });
}

}  // namespace
}  // namespace expunge::attention::cpu
#endif  // HWY_ONCE
