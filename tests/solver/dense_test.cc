// The hot loops: right, within their bounds, and the same bits with and without wide vectors.
#include "solver/dense.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "solver/cpu.h"
#include "solver/kernel.h"

namespace expunge::solver {
namespace {

// Runs a test body with and without wide vectors.
class DenseTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    SetWideVectorsForTest(GetParam());
    if (GetParam() && !WideVectors()) GTEST_SKIP() << "this processor has no AVX2 or no FMA";
  }
  void TearDown() override { SetWideVectorsForTest(true); }
};

std::string WidthName(const ::testing::TestParamInfo<bool>& info) { return info.param ? "Wide" : "Plain"; }
INSTANTIATE_TEST_SUITE_P(Widths, DenseTest, ::testing::Bool(), WidthName);

Eigen::MatrixXd RandomKernelMatrix(Eigen::Index m, std::mt19937_64* random) {
  std::normal_distribution<double> normal;
  Eigen::MatrixXd points(3, m);
  for (double& x : points.reshaped()) x = normal(*random);
  Eigen::MatrixXd a(m, m);
  for (Eigen::Index i = 0; i < m; ++i) {
    for (Eigen::Index j = 0; j < m; ++j)
      a(i, j) = std::exp(-0.5 * (points.col(i) - points.col(j)).squaredNorm());
  }
  return a;
}

// A copy with a larger stride, the rest filled with what must not be touched or read.
std::vector<double> WithStride(const Eigen::MatrixXd& a, size_t stride) {
  const auto m = static_cast<size_t>(a.rows());
  std::vector<double> out(stride * stride, std::nan(""));
  for (size_t j = 0; j < m; ++j) {
    for (size_t i = 0; i < m; ++i)
      out[j * stride + i] = a(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
  }
  return out;
}

TEST_P(DenseTest, TriangularSolvesInvertTheFactor) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (const Eigen::Index m : {1, 2, 3, 8, 9, 17, 40}) {
    Eigen::MatrixXd a = RandomKernelMatrix(m, &random);
    a.diagonal().array() += 0.1;
    const Eigen::MatrixXd l = a.llt().matrixL();
    const auto size = static_cast<size_t>(m);
    const std::vector<double> factor = WithStride(l, size + 3);
    Eigen::VectorXd x(m);
    for (double& value : x) value = normal(random);
    Eigen::VectorXd lower = x;
    dense::SolveLower(factor.data(), size + 3, size, lower.data());
    EXPECT_LT((l * lower - x).norm(), 1e-13);
    Eigen::VectorXd upper = x;
    dense::SolveUpper(factor.data(), size + 3, size, upper.data());
    EXPECT_LT((l.transpose() * upper - x).norm(), 1e-13);
  }
}

TEST_P(DenseTest, RemovingARowGivesTheFactorOfTheRest) {
  std::mt19937_64 random(2);
  for (const Eigen::Index m : {1, 2, 5, 12, 33}) {
    Eigen::MatrixXd a = RandomKernelMatrix(m, &random);
    a.diagonal().array() += 0.01;
    const Eigen::MatrixXd l = a.llt().matrixL();
    const auto size = static_cast<size_t>(m);
    for (size_t k = 0; k < size; ++k) {
      std::vector<double> factor = WithStride(l, size + 2);
      std::vector<double> matrix = WithStride(a, size + 2);
      std::vector<double> work(size);
      dense::RemoveFromFactor(factor.data(), size + 2, size, k, work.data());
      dense::RemoveFromMatrix(matrix.data(), size + 2, size, k);
      for (size_t i = 0; i + 1 < size; ++i) {
        for (size_t j = 0; j + 1 < size; ++j) {
          const auto row = static_cast<Eigen::Index>(i + (i >= k ? 1 : 0));
          const auto column = static_cast<Eigen::Index>(j + (j >= k ? 1 : 0));
          EXPECT_EQ(matrix[j * (size + 2) + i], a(row, column));
          double product = 0;
          for (size_t p = 0; p <= std::min(i, j); ++p) {
            product += factor[p * (size + 2) + i] * factor[p * (size + 2) + j];
          }
          EXPECT_NEAR(product, a(row, column), 1e-13);
        }
      }
    }
  }
}

TEST_P(DenseTest, ResidualsStayWithinTheStatedError) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (const size_t m : {1, 3, 4, 11, 12, 13, 30, 100}) {
    const Eigen::MatrixXd a = RandomKernelMatrix(static_cast<Eigen::Index>(m), &random);
    const std::vector<double> matrix = WithStride(a, m + 1);
    std::vector<double> x_hi(m);
    std::vector<double> x_lo(m);
    std::vector<double> hi(m);
    std::vector<double> lo(m);
    for (size_t i = 0; i < m; ++i) {
      x_hi[i] = normal(random);
      x_lo[i] = x_hi[i] * 0x1p-54 * normal(random) / 8;
      // Near the sum, so that most of it cancels.
      hi[i] = 0;
      for (size_t j = 0; j < m; ++j)
        hi[i] += a(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) * x_hi[j];
      lo[i] = hi[i] * 0x1p-54;
    }
    const std::vector<double> start_hi = hi;
    const std::vector<double> start_lo = lo;
    dense::SubtractProducts(matrix.data(), m + 1, m, x_hi.data(), x_lo.data(), hi.data(), lo.data());
    for (size_t i = 0; i < m; ++i) {
      mpq_class exact = mpq_class(start_hi[i]) + mpq_class(start_lo[i]);
      mpq_class magnitude = abs(mpq_class(start_hi[i]));
      for (size_t j = 0; j < m; ++j) {
        const mpq_class value(a(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)));
        exact -= value * (mpq_class(x_hi[j]) + mpq_class(x_lo[j]));
        magnitude += abs(value * mpq_class(x_hi[j]));
      }
      const mpq_class bound = magnitude * mpq_class((8.0 * static_cast<double>(m) + 32) * 0x1p-106);
      EXPECT_LE(abs(mpq_class(hi[i]) + mpq_class(lo[i]) - exact), bound) << "m " << m;
    }
  }
}

TEST_P(DenseTest, AccumulatedRowsStayWithinTheStatedError) {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> uniform;
  for (const size_t count : {0, 1, 7, 8, 9, 50}) {
    const size_t n = 700;
    std::vector<std::vector<float>> rows(count, std::vector<float>(n));
    std::vector<const float*> pointers;
    std::vector<float> weights;
    for (auto& row : rows) {
      for (float& x : row) x = static_cast<float>(uniform(random));
      pointers.push_back(row.data());
      weights.push_back(static_cast<float>(uniform(random)));
    }
    std::vector<double> initial(n);
    for (double& x : initial) x = uniform(random);
    std::vector<double> out(n);
    dense::AccumulateRows(pointers.data(), weights.data(), count, initial.data(), 0.25, n, out.data());
    for (size_t j = 0; j < n; ++j) {
      mpq_class products = 0;
      for (size_t r = 0; r < count; ++r) products += mpq_class(weights[r]) * mpq_class(rows[r][j]);
      const mpq_class exact = products + mpq_class(initial[j]) / 4;
      const mpq_class bound = products * mpq_class(11 * 0x1p-24) + mpq_class(0x1p-51 * out[j] + 1e-40);
      EXPECT_LE(abs(mpq_class(out[j]) - exact), bound);
    }
  }
}

TEST(WideVectorsTest, GiveTheBitsOfThePlainLoops) {
  if (!WideVectors()) GTEST_SKIP() << "this processor has no AVX2 or no FMA: there is nothing to compare";
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  const size_t m = 37;
  const Eigen::MatrixXd a = RandomKernelMatrix(static_cast<Eigen::Index>(m), &random);
  std::vector<double> x(m);
  std::vector<double> x_lo(m, 0x1p-60);
  for (double& value : x) value = normal(random);
  std::vector<std::vector<double>> results;
  for (const bool wide : {false, true}) {
    SetWideVectorsForTest(wide);
    std::vector<double> hi(m, 1.0);
    std::vector<double> lo(m, 0.0);
    dense::SubtractProducts(a.data(), m, m, x.data(), x_lo.data(), hi.data(), lo.data());
    std::vector<double> solved = x;
    const Eigen::MatrixXd l = (a + Eigen::MatrixXd::Identity(m, m)).llt().matrixL();
    dense::SolveLower(l.data(), m, m, solved.data());
    dense::SolveUpper(l.data(), m, m, solved.data());
    std::vector<double> row(m);
    ApproxKernelRow(x.data(), a.data(), m, m, m, 0.3, row.data());
    std::vector<double> factor(l.data(), l.data() + m * m);
    std::vector<double> work(m);
    dense::RemoveFromFactor(factor.data(), m, m, 5, work.data());
    std::vector<float> floats(m * m);
    for (size_t i = 0; i < m * m; ++i) floats[i] = static_cast<float>(a.data()[i]);
    std::vector<const float*> rows;
    for (size_t r = 0; r < m; ++r) rows.push_back(&floats[r * m]);
    std::vector<double> sums(m);
    dense::AccumulateRows(rows.data(), floats.data(), m, x.data(), 0.7, m, sums.data());
    dense::AddRow(rows[3], 0.3, m, sums.data());
    hi.insert(hi.end(), lo.begin(), lo.end());
    hi.insert(hi.end(), factor.begin(), factor.end());
    hi.insert(hi.end(), sums.begin(), sums.end());
    hi.insert(hi.end(), solved.begin(), solved.end());
    hi.insert(hi.end(), row.begin(), row.end());
    results.push_back(hi);
  }
  SetWideVectorsForTest(true);
  for (size_t i = 0; i < results[0].size(); ++i)
    EXPECT_EQ(std::bit_cast<uint64_t>(results[0][i]), std::bit_cast<uint64_t>(results[1][i])) << i;
}

}  // namespace
}  // namespace expunge::solver
