// The Gaussian kernel: correctly rounded, and fast with a proven bound.
//
// Problem.  k(x, y) = exp(-gamma |x - y|^2) for finite double inputs whose |x - y|^2 does not overflow.
// Method.  ExactKernel sums the squared differences in double-double, reduces the argument by multiples of
// ln(2)/64 and sums the Taylor series; the error bound then shows that all reals in reach round to one
// double, which is the answer. Otherwise, and near the edge of the normal range, ball arithmetic on the exact
// argument decides at growing precision: exp of a non-zero rational is irrational, so that no tie can occur
// and the loop ends. Derivation: docs/math/canonical.md, "Kernel".
#ifndef EXPUNGE_SOLVER_KERNEL_H_
#define EXPUNGE_SOLVER_KERNEL_H_

#include <cstddef>
#include <cstdint>

namespace expunge::solver {

// The double nearest to k(x, y), subnormals included. `x` and `y` have `d` elements.
// Cost: about 30 d flops; a few ten microseconds in one of 10^12 calls, or where k < 2^-1009.
[[nodiscard]] double ExactKernel(const double* x, const double* y, size_t d, double gamma);

// out[i] = ExactKernel(x, ys[i], d, gamma) for i < count. REQUIRES: d <= kMaxDimension. Cost: about a third
// of as many single calls; 17 KiB of stack.
void ExactKernels(const double* x, const double* const* ys, size_t count, size_t d, double gamma,
                  double* out);

// The same value by ball arithmetic alone. For ExactKernel and tests.
[[nodiscard]] double ExactKernelByBalls(const double* x, const double* y, size_t d, double gamma);

// exp(-t) for t >= 0 with relative error at most 2^-49, or 0 for t > 700. Same bits from every compiler and
// vector unit.
[[nodiscard]] double ExpOfNegative(double t);

// out[j] = k(x, column j) for j < n, where element k of column j is at columns[k * stride + j].
// |out[j] - ExactKernel| <= ApproxKernelError(d, gamma). Cost: 3 d n flops, vectorised.
void ApproxKernelRow(const double* x, const double* columns, size_t d, size_t n, size_t stride, double gamma,
                     double* out);

// Absolute error of ApproxKernelRow against the correctly rounded kernel.
[[nodiscard]] double ApproxKernelError(size_t d, double gamma);

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_KERNEL_H_
