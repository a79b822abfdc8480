#include "solver/verified_bounds.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

namespace expunge::solver {
namespace {

using Eigen::Index;

constexpr double kRoundoff = 0x1p-53;
// Covers the rounding of the bounds' own evaluation: sums of fewer than 2^20 terms, all of them >= 0.
constexpr double kOutward = 1 + 0x1p-30;
constexpr Index kMaxUnknowns = Index{1} << 19;
// Covers products that fall below the range of a double, for any number of terms below kMaxUnknowns.
constexpr double kUnderflow = 0x1p-900;

// k u / (1 - 2 k u), a bound of the relative error of a sum of k rounded products, in any order.
double Gamma(Index k) { return static_cast<double>(k) * kRoundoff * kOutward; }

// x becomes L^-T L^-1 x, column by column.
void SolveInPlace(const ConstMatrixView& factor, Eigen::MatrixXd* x) {
  factor.triangularView<Eigen::Lower>().solveInPlace(*x);
  factor.transpose().triangularView<Eigen::Upper>().solveInPlace(*x);
}

// Inverse iteration on L L'. Any result will do; a good one is at most slightly above the smallest
// eigenvalue.
double EstimateSmallestEigenvalue(const ConstMatrixView& factor) {
  constexpr int kSteps = 20;
  const Index n = factor.rows();
  Eigen::MatrixXd x(n, 1);
  for (Index i = 0; i < n; ++i)
    x(i, 0) = std::fmod(static_cast<double>(i + 1) * 0.6180339887498949, 1.0) - 0.5;
  double estimate = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kSteps; ++step) {
    x /= x.norm();
    SolveInPlace(factor, &x);
    const double next = 1 / x.norm();
    const bool settled = next > 0.99 * estimate;
    estimate = next;
    if (settled) break;
  }
  return estimate;
}

// A lower bound of the smallest eigenvalue of M, a little below `shift`, if M - shift I has a Cholesky factor
// in doubles; -infinity if not. `work` is n x n.
double BoundByShift(const ConstMatrixView& m, double shift, Eigen::MatrixXd* work) {
  const Index n = m.rows();
  *work = m;
  work->diagonal().array() -= shift;
  double trace = 0;
  double largest = 0;
  for (Index i = 0; i < n; ++i) {
    trace += std::fabs((*work)(i, i));
    largest = std::max(largest, std::fabs((*work)(i, i)) + std::fabs(m(i, i)));
  }
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> llt(*work);
  if (llt.info() != Eigen::Success) return -std::numeric_limits<double>::infinity();
  // A NaN passes Eigen's test of the pivots, but stays on the diagonal of the factor.
  for (Index i = 0; i < n; ++i) {
    const double pivot = (*work)(i, i);
    if (!(pivot > 0) || !std::isfinite(pivot)) return -std::numeric_limits<double>::infinity();
  }
  const double loss = (Gamma(n + 4) * trace + kRoundoff * largest) * kOutward + kUnderflow;
  return (shift - loss) * (1 - 0x1p-50);
}

// L^-T L^-1, approximately. Cost: 2 n^3/3 flops, since blocks above the diagonal of L^-1 are zero.
Eigen::MatrixXd InverseFromFactor(const ConstMatrixView& factor) {
  constexpr Index kBlock = 64;
  const Index n = factor.rows();
  Eigen::MatrixXd inverse_factor = Eigen::MatrixXd::Identity(n, n);
  Eigen::MatrixXd inverse = Eigen::MatrixXd::Zero(n, n);
  for (Index k = 0; k < n; k += kBlock) {
    const Index width = std::min(kBlock, n - k);
    auto columns = inverse_factor.block(k, k, n - k, width);
    factor.bottomRightCorner(n - k, n - k).triangularView<Eigen::Lower>().solveInPlace(columns);
  }
  for (Index k = 0; k < n; k += kBlock) {
    const Index width = std::min(kBlock, n - k);
    auto corner = inverse.topLeftCorner(k + width, k + width);
    const auto rows = inverse_factor.block(k, 0, width, k + width);
    corner.selfadjointView<Eigen::Lower>().rankUpdate(rows.transpose());
  }
  inverse.triangularView<Eigen::StrictlyUpper>() = inverse.transpose();
  return inverse;
}

// The inverse of B = [M, -1; 1', 0], approximately: with W = M^-1, u = W 1 and t = 1'u,
//     [W - u u'/t, u/t; -u'/t, 1/t].
Eigen::MatrixXd BorderedInverse(const ConstMatrixView& factor) {
  const Index n = factor.rows();
  Eigen::MatrixXd x(n + 1, n + 1);
  x.topLeftCorner(n, n) = InverseFromFactor(factor);
  // By the factor, not from W: u is moderate where W is huge, and so are its errors.
  Eigen::MatrixXd u = Eigen::MatrixXd::Ones(n, 1);
  SolveInPlace(factor, &u);
  const double t = u.sum();
  x.topLeftCorner(n, n).noalias() -= (u / t) * u.transpose();
  x.col(n).head(n) = u / t;
  x.row(n).head(n) = -u.transpose() / t;
  x(n, n) = 1 / t;
  return x;
}

Eigen::MatrixXd BorderedMatrix(const ConstMatrixView& m) {
  const Index n = m.rows();
  Eigen::MatrixXd b(n + 1, n + 1);
  b.topLeftCorner(n, n) = m;
  b.col(n).setConstant(-1);
  b.row(n).setConstant(1);
  b(n, n) = 0;
  return b;
}

// Solves |e| <= y + |I - X B| |e| for e in the norm max |e_i| / w_i. Empty if |I - X B| w < w is not proven.
Eigen::VectorXd BoundError(const Eigen::MatrixXd& abs_b, const Eigen::MatrixXd& abs_x,
                           const Eigen::MatrixXd& abs_defect, const Eigen::VectorXd& y,
                           const Eigen::VectorXd& w) {
  const Index n = y.size();
  // |I - X B| w: the defect as computed, the rounding of that, and the rounding of M's diagonal.
  Eigen::VectorXd spread = Gamma(n + 2) * (abs_b * w);
  spread.array() += kRoundoff * abs_b.diagonal().array() * w.array();
  Eigen::VectorXd image = (abs_defect * w + abs_x * spread) * kOutward + (Gamma(n + 2) + 0x1p-100) * w;
  double alpha = 0;
  double scale = 0;
  for (Index i = 0; i < n; ++i) {
    const double ratio = image[i] / w[i] * kOutward;
    if (!(ratio < 1)) return {};  // a NaN, too
    alpha = std::max(alpha, ratio);
    scale = std::max(scale, y[i] / w[i]);
  }
  return (y + scale / (1 - alpha) * kOutward * image) * kOutward;
}

}  // namespace

double EigenvalueLowerBound(const ConstMatrixView& m, const ConstMatrixView& factor, double floor) {
  const Index n = m.rows();
  if (n == 0 || n >= kMaxUnknowns) return floor;
  const double estimate = EstimateSmallestEigenvalue(factor);
  Eigen::MatrixXd work(n, n);
  for (const double share : {0.9, 0.6, 0.2}) {
    const double shift = share * estimate;
    if (!(shift > floor) || !std::isfinite(shift)) return floor;
    const double bound = BoundByShift(m, shift, &work);
    if (bound > floor) return bound;
  }
  return floor;
}

ComponentwiseError BoundComponents(const ConstMatrixView& m, const ConstMatrixView& factor,
                                   const std::vector<double>& r_upper, double sigma_upper) {
  const Index n = m.rows();
  if (n == 0 || n >= kMaxUnknowns) return {};
  const Eigen::MatrixXd x = BorderedInverse(factor);
  const Eigen::MatrixXd b = BorderedMatrix(m);
  Eigen::MatrixXd defect = Eigen::MatrixXd::Identity(n + 1, n + 1);
  defect.noalias() -= x * b;
  defect = defect.cwiseAbs();
  const Eigen::MatrixXd abs_x = x.cwiseAbs();
  const Eigen::MatrixXd abs_b = b.cwiseAbs();

  Eigen::VectorXd residual(n + 1);
  residual.head(n) = Eigen::Map<const Eigen::VectorXd>(r_upper.data(), n);
  residual[n] = sigma_upper;
  Eigen::VectorXd y = abs_x * residual * kOutward;
  y.array() += kUnderflow;
  // Nothing is worth proving beyond 1; kUnderflow covers what it must only below.
  for (Index i = 0; i <= n; ++i) {
    if (!(y[i] < 1)) return {};
  }
  Eigen::VectorXd error = BoundError(abs_b, abs_x, defect, y, y);
  if (error.size() == 0) error = BoundError(abs_b, abs_x, defect, y, Eigen::VectorXd::Ones(n + 1));
  if (error.size() == 0 || !error.allFinite()) return {};
  ComponentwiseError out;
  out.x.assign(error.data(), error.data() + n);
  out.h = error[n];
  return out;
}

}  // namespace expunge::solver
