#include "solver/verified_bounds.h"

#include <arb_mat.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "solver/double_double.h"
#include "solver/exact_numbers.h"
#include "solver/kernel.h"
#include "tests/support/data.h"

namespace expunge::solver {
namespace {

using testing::DataKind;

constexpr slong kPrecision = 256;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class BallMatrix {
 public:
  explicit BallMatrix(slong n) { arb_mat_init(value_, n, n); }
  BallMatrix(const BallMatrix&) = delete;
  BallMatrix& operator=(const BallMatrix&) = delete;
  ~BallMatrix() { arb_mat_clear(value_); }
  operator arb_mat_struct*() { return value_; }
  arb_ptr At(slong i, slong j) { return arb_mat_entry(value_, i, j); }

 private:
  arb_mat_t value_;
};

// The groups of equal keys of some tokens: M = K + diag(ridge / count), as the contract gives it.
struct Instance {
  Eigen::MatrixXd m;
  std::vector<Rational> diagonal;  // exact
};

Instance MakeInstance(DataKind kind, size_t n, double ridge, uint64_t seed) {
  constexpr size_t kDimension = 3;
  std::map<std::vector<double>, uint64_t> groups;
  for (const auto& token : testing::MakeTokens(kind, n, kDimension, 1, seed)) ++groups[token->key];
  Instance out;
  const auto size = static_cast<Eigen::Index>(groups.size());
  out.m.resize(size, size);
  Eigen::Index i = 0;
  for (const auto& [x, count] : groups) {
    Eigen::Index j = 0;
    for (const auto& [y, unused] : groups) out.m(i, j++) = ExactKernel(x.data(), y.data(), kDimension, 0.5);
    Rational exact;
    SetExactly(ridge, &exact);
    fmpq_div_fmpz(exact, exact, Integer(count));
    fmpq_add_si(exact, exact, 1);
    out.m(i, i) = RoundToDouble(exact).value;
    out.diagonal.push_back(exact);
    ++i;
  }
  return out;
}

// The Cholesky factor with each entry off by up to `noise`, relatively, and nothing above the diagonal.
Eigen::MatrixXd NoisyFactor(const Eigen::MatrixXd& m, double noise) {
  std::mt19937_64 random(7);
  Eigen::MatrixXd factor = Eigen::LLT<Eigen::MatrixXd>(m).matrixL();
  for (Eigen::Index j = 0; j < m.cols(); ++j) {
    for (Eigen::Index i = 0; i < m.rows(); ++i) {
      const double unit = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
      factor(i, j) = i < j ? kNan : factor(i, j) * (1 + noise * unit);
    }
  }
  return factor;
}

// M - shift I, exactly.
void SetShifted(const Instance& instance, double shift, BallMatrix* out) {
  const Eigen::Index n = instance.m.rows();
  const Ball shift_ball = [&] {
    Ball b;
    arb_set_d(b, shift);
    return b;
  }();
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) {
      if (i != j) arb_set_d(out->At(i, j), instance.m(i, j));
    }
    arb_set_fmpq(out->At(i, i), instance.diagonal[static_cast<size_t>(i)], kPrecision);
    arb_sub(out->At(i, i), out->At(i, i), shift_ball, kPrecision);
  }
}

bool IsBelowAllEigenvalues(const Instance& instance, double bound) {
  BallMatrix shifted(instance.m.rows());
  SetShifted(instance, bound, &shifted);
  return arb_mat_cho(shifted, shifted, kPrecision) != 0;
}

class BoundsTest : public ::testing::TestWithParam<DataKind> {
 protected:
  template <typename Check>
  void ForEachInstance(const Check& check) {
    for (const size_t n : {1, 2, 7, 40, 70}) {
      for (const double ridge : {1e-8, 1e-6, 1e-2, 1.0}) {
        SCOPED_TRACE(::testing::Message() << "n " << n << " ridge " << ridge);
        check(MakeInstance(GetParam(), n, ridge, n), ridge);
        if (HasFatalFailure()) return;
      }
    }
  }
};

TEST_P(BoundsTest, TheEigenvalueBoundIsBelowEveryEigenvalueWhateverTheFactor) {
  ForEachInstance([](const Instance& instance, double ridge) {
    const double smallest = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(instance.m).eigenvalues()[0];
    for (const double noise : {1e-15, 1e-9, 1e-3, 0.5}) {
      const double bound = EigenvalueLowerBound(instance.m, NoisyFactor(instance.m, noise), 0);
      ASSERT_TRUE(IsBelowAllEigenvalues(instance, bound)) << bound << " noise " << noise;
      ASSERT_GE(bound, noise == 1e-15 ? 0.3 * smallest : 0.0);
    }
  });
}

// So the test above would notice a bound that is too large.
TEST_P(BoundsTest, AShiftSlightlyAboveTheSmallestEigenvalueIsNoticed) {
  ForEachInstance([](const Instance& instance, double ridge) {
    const double smallest = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(instance.m).eigenvalues()[0];
    ASSERT_FALSE(IsBelowAllEigenvalues(instance, 1.001 * smallest));
  });
}

TEST(EigenvalueLowerBoundTest, ReachesFourFifthsOfTheSmallestEigenvalueOfGaussianKeys) {
  for (const size_t n : {10, 50, 200}) {
    const Instance instance = MakeInstance(DataKind::kGaussian, n, 1e-8, n);
    const double smallest = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(instance.m).eigenvalues()[0];
    const double bound = EigenvalueLowerBound(instance.m, NoisyFactor(instance.m, 1e-15), 1e-9);
    EXPECT_GE(bound, 0.8 * smallest) << n;
    EXPECT_LE(bound, smallest) << n;
  }
}

TEST(EigenvalueLowerBoundTest, NeverReturnsLessThanTheFloor) {
  const Instance instance = MakeInstance(DataKind::kNearDuplicates, 40, 1e-8, 1);
  const double floor = 1e-8 - 40 * 0x1p-54;
  EXPECT_GE(EigenvalueLowerBound(instance.m, NoisyFactor(instance.m, 1e-15), floor), floor);
}

TEST(EigenvalueLowerBoundTest, AMatrixThatIsNotPositiveDefiniteGetsTheFloor) {
  // The factor belongs to another matrix: only a factorisation of M itself can tell.
  for (const Eigen::Index n : {2, 3, 20, 150}) {
    Eigen::MatrixXd m = Eigen::MatrixXd::Constant(n, n, 0.9);
    m.diagonal().setConstant(0.9 - 1e-9);
    const Eigen::MatrixXd factor = Eigen::MatrixXd::Identity(n, n);
    EXPECT_EQ(EigenvalueLowerBound(m, factor, 1e-30), 1e-30) << n;
    EXPECT_EQ(EigenvalueLowerBound(m, 1e-6 * factor, 1e-30), 1e-30) << n;
  }
}

// The smallest eigenvalue is 2^-52, and the entries on the diagonal are known to half of that: whether a
// factorisation runs to its end says nothing here.
TEST(EigenvalueLowerBoundTest, ProvesNothingWithinTheRoundingOfTheFactorisation) {
  for (const Eigen::Index n : {2, 10, 100}) {
    Eigen::MatrixXd m = Eigen::MatrixXd::Constant(n, n, 1.0);
    m.diagonal().setConstant(1 + 0x1p-52);
    const Eigen::MatrixXd factor = 0x1p-26 * Eigen::MatrixXd::Identity(n, n);
    EXPECT_EQ(EigenvalueLowerBound(m, factor, 0), 0) << n;
  }
}

TEST(EigenvalueLowerBoundTest, NumbersThatAreNotFiniteGiveTheFloor) {
  const Instance instance = MakeInstance(DataKind::kGaussian, 40, 1e-6, 1);
  const Eigen::MatrixXd factor = NoisyFactor(instance.m, 0);
  for (const double bad : {kNan, HUGE_VAL, -HUGE_VAL}) {
    for (const Eigen::Index k : {0, 17, 39}) {
      Eigen::MatrixXd broken = factor;
      broken(39, k) = bad;
      const double bound = EigenvalueLowerBound(instance.m, broken, 1e-9);
      EXPECT_TRUE(bound == 1e-9 || IsBelowAllEigenvalues(instance, bound));
      Eigen::MatrixXd m = instance.m;
      m(39, k) = m(k, 39) = bad;
      EXPECT_EQ(EigenvalueLowerBound(m, factor, 1e-9), 1e-9) << k;
    }
  }
  EXPECT_EQ(EigenvalueLowerBound(instance.m, Eigen::MatrixXd::Zero(40, 40), 1e-9), 1e-9);
}

// |B^-1| (r, sigma) in balls: exactly the largest errors that residuals within these bounds can cause.
std::vector<Ball> LargestErrors(const Instance& instance, const std::vector<double>& r, double sigma) {
  const slong n = instance.m.rows();
  BallMatrix shifted(n);
  SetShifted(instance, 0, &shifted);
  BallMatrix b(n + 1);
  for (slong i = 0; i < n; ++i) {
    for (slong j = 0; j < n; ++j) arb_set(b.At(i, j), shifted.At(i, j));
    arb_set_si(b.At(i, n), -1);
    arb_set_si(b.At(n, i), 1);
  }
  EXPECT_NE(arb_mat_inv(b, b, kPrecision), 0);
  std::vector<Ball> errors(static_cast<size_t>(n + 1));
  for (slong i = 0; i <= n; ++i) {
    Ball term;
    for (slong j = 0; j <= n; ++j) {
      arb_set_d(term, j < n ? r[static_cast<size_t>(j)] : sigma);
      arb_abs(b.At(i, j), b.At(i, j));
      arb_addmul(errors[static_cast<size_t>(i)], b.At(i, j), term, kPrecision);
    }
  }
  return errors;
}

double ToDouble(const Ball& x) { return LowerBound(x); }

bool AtLeast(double bound, const Ball& x) {
  Ball b;
  arb_set_d(b, bound);
  return arb_ge(b, x) != 0;
}

// Residual bounds of many sizes.
std::vector<double> MixedResiduals(size_t n) {
  std::vector<double> r(n);
  for (size_t i = 0; i < n; ++i)
    r[i] = std::ldexp(1.0 + 0.1 * static_cast<double>(i % 7), -100 - 3 * static_cast<int>(i % 5));
  return r;
}

TEST_P(BoundsTest, NoErrorExceedsItsComponentwiseBoundAndTheBoundIsSharp) {
  ForEachInstance([](const Instance& instance, double ridge) {
    const auto n = static_cast<size_t>(instance.m.rows());
    for (const double sigma : {0x1p-106, 0x1p-90}) {
      const std::vector<double> r = MixedResiduals(n);
      const auto bounds = BoundComponents(instance.m, NoisyFactor(instance.m, 1e-15), r, sigma);
      ASSERT_EQ(bounds.x.size(), n);
      const std::vector<Ball> errors = LargestErrors(instance, r, sigma);
      for (size_t i = 0; i <= n; ++i) {
        const double bound = i < n ? bounds.x[i] : bounds.h;
        ASSERT_TRUE(AtLeast(bound, errors[i])) << i;
        // Below 1e-6 the inverse in doubles shows: rows of keys that stand apart feel those of
        // near-duplicates.
        ASSERT_LE(bound, (ridge < 1e-6 ? 4 : 1.02) * ToDouble(errors[i])) << i;
      }
    }
  });
}

TEST_P(BoundsTest, APoorFactorGivesAValidComponentwiseBoundOrNone) {
  size_t none = 0;
  ForEachInstance([&none](const Instance& instance, double ridge) {
    const auto n = static_cast<size_t>(instance.m.rows());
    for (const double noise : {1e-9, 1e-4, 3.0}) {
      const std::vector<double> r = MixedResiduals(n);
      const auto bounds = BoundComponents(instance.m, NoisyFactor(instance.m, noise), r, 0x1p-100);
      none += bounds.x.empty() ? 1 : 0;
      if (bounds.x.empty()) continue;
      const std::vector<Ball> errors = LargestErrors(instance, r, 0x1p-100);
      for (size_t i = 0; i < n; ++i) ASSERT_TRUE(AtLeast(bounds.x[i], errors[i])) << i;
      ASSERT_TRUE(AtLeast(bounds.h, errors[n]));
    }
  });
  EXPECT_GT(none, 0U);
}

std::string KindName(const ::testing::TestParamInfo<DataKind>& info) { return testing::Name(info.param); }
INSTANTIATE_TEST_SUITE_P(Kinds, BoundsTest, ::testing::ValuesIn(testing::kAllDataKinds), KindName);

// The a priori bound of canonical.md, (4.2).
double AprioriError(const Instance& instance, double ridge, double r, double sigma) {
  const auto n = static_cast<double>(instance.m.rows());
  const double lambda = ridge - n * 0x1p-54;
  return r * std::sqrt(n) / lambda + sigma * std::sqrt((1 + ridge) / lambda);
}

TEST(BoundComponentsTest, DecidesARoundingThatTheAprioriBoundLeavesOpen) {
  const double ridge = 1e-8;
  const double residual = 0x1p-100;
  const Instance instance = MakeInstance(DataKind::kGaussian, 40, ridge, 3);
  const double apriori = AprioriError(instance, ridge, residual, residual);
  const auto bounds = BoundComponents(instance.m, NoisyFactor(instance.m, 1e-15),
                                      std::vector<double>(40, residual), residual);
  ASSERT_EQ(bounds.x.size(), 40U);
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_LT(bounds.x[i], 1e-3 * apriori);
    // A weight of 1/32 and nearly half an ulp.
    const DoubleDouble weight = {0x1p-5, 0x1p-58 - std::sqrt(bounds.x[i] * apriori)};
    EXPECT_FALSE(RoundsToHi(weight, apriori));
    EXPECT_TRUE(RoundsToHi(weight, bounds.x[i]));
  }
}

// Two keys that nearly coincide spoil their own weights, not those of the others.
TEST(BoundComponentsTest, ANearDuplicateCostsTheOtherWeightsNothing) {
  const double ridge = 1e-8;
  const double residual = 0x1p-100;
  Instance instance = MakeInstance(DataKind::kGaussian, 20, ridge, 3);
  // The last key once more, at a distance of about 1e-9: its kernel values, to an ulp, and 1 - 2^-52.
  const Eigen::Index n = 21;
  Eigen::MatrixXd m(n, n);
  m.topLeftCorner(20, 20) = instance.m;
  m.row(20).head(20) = instance.m.row(19) * (1 - 0x1p-52);
  m(20, 19) = 1 - 0x1p-52;
  m.col(20).head(20) = m.row(20).head(20).transpose();
  m(20, 20) = m(0, 0);
  instance.m = m;
  instance.diagonal.push_back(instance.diagonal[0]);
  const double floor = ridge - 21 * 0x1p-54;
  const double lambda = EigenvalueLowerBound(m, NoisyFactor(m, 1e-15), floor);
  EXPECT_LT(lambda, 1.01 * ridge);  // so B is of no use
  const std::vector<double> r(21, residual);
  const auto bounds = BoundComponents(m, NoisyFactor(m, 1e-15), r, residual);
  ASSERT_EQ(bounds.x.size(), 21U);
  const double apriori = AprioriError(instance, ridge, residual, residual);
  for (size_t i = 0; i < 19; ++i) EXPECT_LT(bounds.x[i], 1e-3 * apriori) << i;
  for (size_t i = 19; i < 21; ++i) EXPECT_GT(bounds.x[i], 0.01 * apriori) << i;
}

// M^-1 1 has an entry 0, so that sigma alone leaves that weight as it is: the bounds themselves are no
// weights for a norm then.
TEST(BoundComponentsTest, AComponentWithoutErrorGetsASmallBound) {
  const double a = 1 + 0x1p-6;
  Instance instance;
  instance.m.resize(3, 3);
  instance.m << a, 0, a / 2, 0, a, a / 2, a / 2, a / 2, a;
  Rational exact;
  SetExactly(a, &exact);
  instance.diagonal.assign(3, exact);
  const std::vector<double> r(3, 0.0);
  const auto bounds = BoundComponents(instance.m, NoisyFactor(instance.m, 0), r, 0x1p-60);
  ASSERT_EQ(bounds.x.size(), 3U);
  EXPECT_LT(bounds.x[2], 1e-14 * 0x1p-60);
  const std::vector<Ball> errors = LargestErrors(instance, r, 0x1p-60);
  EXPECT_TRUE(AtLeast(bounds.x[0], errors[0]));
  EXPECT_TRUE(AtLeast(bounds.x[1], errors[1]));
  EXPECT_LT(bounds.x[0], 1.01 * ToDouble(errors[0]));
}

TEST(BoundComponentsTest, WhatCannotBeProvenGivesNothing) {
  const Instance instance = MakeInstance(DataKind::kGaussian, 40, 1e-6, 1);
  const Eigen::MatrixXd factor = NoisyFactor(instance.m, 0);
  const std::vector<double> r(40, 0x1p-100);
  ASSERT_FALSE(BoundComponents(instance.m, factor, r, 0x1p-100).x.empty());
  for (const double bad : {kNan, HUGE_VAL, 1e300, 1e-300}) {
    Eigen::MatrixXd broken = factor;
    broken(20, 20) = bad;
    EXPECT_TRUE(BoundComponents(instance.m, broken, r, 0x1p-100).x.empty()) << bad;
  }
  for (const double bad : {kNan, HUGE_VAL, 1e300, 0.5}) {
    std::vector<double> bad_r = r;
    bad_r[20] = bad;
    EXPECT_TRUE(BoundComponents(instance.m, factor, bad_r, 0x1p-100).x.empty()) << bad;
    EXPECT_TRUE(BoundComponents(instance.m, factor, r, 1e4 * bad).x.empty()) << bad;
    Eigen::MatrixXd m = instance.m;
    m(20, 3) = m(3, 20) = bad;
    EXPECT_TRUE(BoundComponents(m, factor, r, 0x1p-100).x.empty()) << bad;
  }
  EXPECT_TRUE(BoundComponents(instance.m, Eigen::MatrixXd::Zero(40, 40), r, 0x1p-100).x.empty());
  EXPECT_TRUE(BoundComponents(instance.m, Eigen::MatrixXd::Identity(40, 40), r, 0x1p-100).x.empty());
}

TEST(BoundComponentsTest, ResidualsNearTheEndOfTheExponentRangeAreCovered) {
  const Instance instance = MakeInstance(DataKind::kFar, 20, 1e-8, 1);
  for (const double residual : {0.0, 0x1p-1074, 0x1p-940}) {
    const std::vector<double> r(20, residual);
    const auto bounds = BoundComponents(instance.m, NoisyFactor(instance.m, 1e-15), r, residual);
    ASSERT_EQ(bounds.x.size(), 20U);
    const std::vector<Ball> errors = LargestErrors(instance, r, residual);
    for (size_t i = 0; i < 20; ++i) EXPECT_TRUE(AtLeast(bounds.x[i], errors[i])) << residual;
    for (size_t i = 0; i < 20; ++i) EXPECT_LT(bounds.x[i], 0x1p-890) << residual;
  }
}

}  // namespace
}  // namespace expunge::solver
