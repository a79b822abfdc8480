// The hot loops of the incremental memory, over plain arrays.
//
// Matrices are column-major with a stride of at least m. No function allocates. The results of the two builds
// of each loop (cpu.h) are the same bits.
#ifndef EXPUNGE_SOLVER_DENSE_H_
#define EXPUNGE_SOLVER_DENSE_H_

#include <cstddef>

namespace expunge::solver::dense {

// x := L^-1 x and x := L'^-1 x for the lower triangle L. Cost: m^2 flops each.
void SolveLower(const double* l, size_t stride, size_t m, double* x);
void SolveUpper(const double* l, size_t stride, size_t m, double* x);

// Turns the m x m Cholesky factor of A into that of A without row and column k, of order m - 1, by Givens
// rotations. `work` has m entries. Cost: 3 (m - k)^2 + m^2/2 flops.
void RemoveFromFactor(double* l, size_t stride, size_t m, size_t k, double* work);

// Removes row and column k of the full matrix. Cost: m^2 moves.
void RemoveFromMatrix(double* a, size_t stride, size_t m, size_t k);

// (hi_i, lo_i) -= sum_j a_ij (x_hi_j + x_lo_j) for i < m, in twofold working precision: products and sums are
// split into value and error (TwoProd, TwoSum), and the errors are summed apart, renormalised every four
// columns. With u = 2^-53, |x_lo| <= u |x_hi| and M_i = |hi_i| + sum_j |a_ij x_hi_j|, the result has error at
// most (8 m + 32) u^2 M_i, barring products below 2^-900 (docs/math/incremental.md, "Residual").
// Cost: about 11 m^2 flops.
void SubtractProducts(const double* a, size_t stride, size_t m, const double* x_hi, const double* x_lo,
                      double* hi, double* lo);

// out_j = initial_j * scale + sum_r weights[r] rows[r][j] for j < n, single precision within eight rows,
// double beyond. Error at most 11 * 2^-24 sum_r |weights[r]| rows[r][j], plus 2^-51 |out_j| + rows 2^-140,
// for rows >= 0. Cost: 2 n rows flops.
void AccumulateRows(const float* const* rows, const float* weights, size_t count, const double* initial,
                    double scale, size_t n, double* out);

// target_j += scale * row_j.
void AddRow(const float* row, double scale, size_t n, double* target);

}  // namespace expunge::solver::dense

#endif  // EXPUNGE_SOLVER_DENSE_H_
