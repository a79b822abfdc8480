// Tighter error bounds for the bordered system, for what the a priori bound leaves open.
//
// Problem.  M is symmetric positive definite, m x m, given in doubles: the entries off the diagonal exactly,
// those on it within 2^-53, relatively. (x, h) approximates the solution of
//     M x - h 1 = b,      1'x = s                                                        (B)
// with exact residuals r = b + h 1 - M x and sigma = s - 1'x, of which upper bounds are known.
// docs/math/verified_bounds.md derives both bounds. Every result is rounded outward.
#ifndef EXPUNGE_SOLVER_VERIFIED_BOUNDS_H_
#define EXPUNGE_SOLVER_VERIFIED_BOUNDS_H_

#include <Eigen/Core>
#include <vector>

namespace expunge::solver {

using ConstMatrixView = Eigen::Ref<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>;

// A lower bound of the smallest eigenvalue of M from a Cholesky factorisation of M - shift I that runs to its
// end (Rump, "Verification of positive definiteness", BIT 46, 2006); `floor` where none better can be proven.
// Both triangles of `m` are filled. The lower triangle of `factor` is the Cholesky factor of M,
// approximately; the shift is estimated from it, and nothing else depends on it. Cost: m^3/3 flops, three
// times at most. Threads: any number of calls at once, of both functions.
[[nodiscard]] double EigenvalueLowerBound(const ConstMatrixView& m, const ConstMatrixView& factor,
                                          double floor);

// Componentwise bounds of the error of (x, h).
struct ComponentwiseError {
  std::vector<double> x;  // >= |x_i - x*_i|; empty if nothing could be proven
  double h = 0;           // >= |h - h*|
};

// From an approximate inverse X of the bordered matrix B = [M, -1; 1', 0], made from `factor` and verified by
// |I - X B| < 1 in a weighted maximum norm: (x* - x, h* - h) = X (r, sigma) + (I - X B) (x* - x, h* - h).
// `r_upper[i]` >= |r_i|, `sigma_upper` >= |sigma|; all bounds are linear in them. Errors that cannot be
// proven to be below 1 give no bound. Cost: 3 m^3 flops, 5 m^2 doubles.
[[nodiscard]] ComponentwiseError BoundComponents(const ConstMatrixView& m, const ConstMatrixView& factor,
                                                 const std::vector<double>& r_upper, double sigma_upper);

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_VERIFIED_BOUNDS_H_
