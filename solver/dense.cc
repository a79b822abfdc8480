#include "solver/dense.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "solver/cpu.h"
#include "solver/double_double.h"

#if EXPUNGE_HAS_WIDE
#include <immintrin.h>
#endif

namespace expunge::solver::dense {
namespace {

EXPUNGE_INLINE void SolveLowerLoop(const double* l, size_t stride, size_t m, double* x) {
  for (size_t j = 0; j < m; ++j) {
    const double* column = l + j * stride;
    const double value = x[j] / column[j];
    x[j] = value;
    for (size_t i = j + 1; i < m; ++i) x[i] -= value * column[i];
  }
}

EXPUNGE_INLINE void SolveUpperLoop(const double* l, size_t stride, size_t m, double* x) {
  for (size_t j = m; j-- > 0;) {
    const double* column = l + j * stride;
    double sums[8] = {};
    size_t i = j + 1;
    for (; i + 8 <= m; i += 8) {
      for (size_t lane = 0; lane < 8; ++lane) sums[lane] += column[i + lane] * x[i + lane];
    }
    for (; i < m; ++i) sums[0] += column[i] * x[i];
    const double sum =
        ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
    x[j] = (x[j] - sum) / column[j];
  }
}

// Column j of the trailing block and `work` are rotated so that the first of `work` vanishes.
EXPUNGE_INLINE void RemoveFromFactorLoop(double* l, size_t stride, size_t m, size_t k, double* work) {
  for (size_t i = k + 1; i < m; ++i) work[i] = l[k * stride + i];
  for (size_t j = 0; j < k; ++j) {
    double* column = l + j * stride;
    for (size_t i = k; i + 1 < m; ++i) column[i] = column[i + 1];
  }
  for (size_t j = k + 1; j < m; ++j) {
    const double* column = l + j * stride;
    double* target = l + (j - 1) * stride - 1;  // target[i] is row i - 1 of the new column j - 1
    const double diagonal = column[j];
    const double length = std::sqrt(diagonal * diagonal + work[j] * work[j]);
    const double cosine = diagonal / length;
    const double sine = work[j] / length;
    target[j] = length;
    for (size_t i = j + 1; i < m; ++i) {
      const double a = column[i];
      const double b = work[i];
      target[i] = cosine * a + sine * b;
      work[i] = cosine * b - sine * a;
    }
  }
}

EXPUNGE_INLINE void AccumulateRowsLoop(const float* const* rows, const float* weights, size_t count,
                                       const double* initial, double scale, size_t n, double* out) {
  constexpr size_t kTile = 512;
  constexpr size_t kRows = 8;
  alignas(64) float partial[kTile];
  for (size_t begin = 0; begin < n; begin += kTile) {
    const size_t length = std::min(kTile, n - begin);
    double* tile = out + begin;
    for (size_t j = 0; j < length; ++j) tile[j] = initial[begin + j] * scale;
    size_t r = 0;
    for (; r + kRows <= count; r += kRows) {
      const float* const* row = rows + r;
      const float* w = weights + r;
      const float* row0 = row[0] + begin;
      const float* row1 = row[1] + begin;
      const float* row2 = row[2] + begin;
      const float* row3 = row[3] + begin;
      const float* row4 = row[4] + begin;
      const float* row5 = row[5] + begin;
      const float* row6 = row[6] + begin;
      const float* row7 = row[7] + begin;
      for (size_t j = 0; j < length; ++j) {
        partial[j] = ((w[0] * row0[j] + w[1] * row1[j]) + (w[2] * row2[j] + w[3] * row3[j])) +
                     ((w[4] * row4[j] + w[5] * row5[j]) + (w[6] * row6[j] + w[7] * row7[j]));
      }
      for (size_t j = 0; j < length; ++j) tile[j] += static_cast<double>(partial[j]);
    }
    for (; r < count; ++r) {
      const float* row = rows[r] + begin;
      const float weight = weights[r];
      for (size_t j = 0; j < length; ++j) tile[j] += static_cast<double>(weight * row[j]);
    }
  }
}

EXPUNGE_INLINE void AddRowLoop(const float* row, double scale, size_t n, double* target) {
  for (size_t j = 0; j < n; ++j) target[j] += scale * static_cast<double>(row[j]);
}

constexpr size_t kRenormalise = 4;

// Rows `begin` to `end`, one at a time.
void SubtractProductsOfRows(const double* a, size_t stride, size_t m, const double* x_hi, const double* x_lo,
                            size_t begin, size_t end, double* hi, double* lo) {
  for (size_t i = begin; i < end; ++i) {
    double s = hi[i];
    double c = lo[i];
    for (size_t j = 0; j < m; ++j) {
      const double value = a[j * stride + i];
      const DoubleDouble product = TwoProd(value, x_hi[j]);
      const DoubleDouble sum = TwoSum(s, -product.hi);
      s = sum.hi;
      c += (sum.lo - product.lo) - value * x_lo[j];
      if (j % kRenormalise == kRenormalise - 1) {
        const DoubleDouble normal = FastTwoSum(s, c);
        s = normal.hi;
        c = normal.lo;
      }
    }
    const DoubleDouble normal = FastTwoSum(s, c);
    hi[i] = normal.hi;
    lo[i] = normal.lo;
  }
}

#if EXPUNGE_HAS_WIDE

EXPUNGE_WIDE void SolveLowerWide(const double* l, size_t stride, size_t m, double* x) {
  SolveLowerLoop(l, stride, m, x);
}
EXPUNGE_WIDE void SolveUpperWide(const double* l, size_t stride, size_t m, double* x) {
  SolveUpperLoop(l, stride, m, x);
}
EXPUNGE_WIDE void RemoveFromFactorWide(double* l, size_t stride, size_t m, size_t k, double* work) {
  RemoveFromFactorLoop(l, stride, m, k, work);
}
EXPUNGE_WIDE void AccumulateRowsWide(const float* const* rows, const float* weights, size_t count,
                                     const double* initial, double scale, size_t n, double* out) {
  AccumulateRowsLoop(rows, weights, count, initial, scale, n, out);
}
EXPUNGE_WIDE void AddRowWide(const float* row, double scale, size_t n, double* target) {
  AddRowLoop(row, scale, n, target);
}

// The same operations as SubtractProductsOfRows, 4 kVectors rows at a time.
template <size_t kVectors>
EXPUNGE_WIDE EXPUNGE_INLINE void SubtractProductsOfBlock(const double* a, size_t stride, size_t m,
                                                         const double* x_hi, const double* x_lo, double* hi,
                                                         double* lo) {
  __m256d s[kVectors];
  __m256d c[kVectors];
  for (size_t v = 0; v < kVectors; ++v) {
    s[v] = _mm256_loadu_pd(hi + 4 * v);
    c[v] = _mm256_loadu_pd(lo + 4 * v);
  }
  for (size_t j = 0; j < m; ++j) {
    const __m256d xh = _mm256_set1_pd(x_hi[j]);
    const __m256d xl = _mm256_set1_pd(x_lo[j]);
    const double* column = a + j * stride;
    for (size_t v = 0; v < kVectors; ++v) {
      const __m256d value = _mm256_loadu_pd(column + 4 * v);
      const __m256d product = _mm256_mul_pd(value, xh);
      const __m256d error = _mm256_fmsub_pd(value, xh, product);
      const __m256d sum = _mm256_sub_pd(s[v], product);
      const __m256d bb = _mm256_sub_pd(sum, s[v]);
      const __m256d low =
          _mm256_sub_pd(_mm256_sub_pd(s[v], _mm256_sub_pd(sum, bb)), _mm256_add_pd(product, bb));
      s[v] = sum;
      c[v] = _mm256_add_pd(c[v], _mm256_sub_pd(_mm256_sub_pd(low, error), _mm256_mul_pd(value, xl)));
    }
    if (j % kRenormalise == kRenormalise - 1) {
      for (size_t v = 0; v < kVectors; ++v) {
        const __m256d normal = _mm256_add_pd(s[v], c[v]);
        c[v] = _mm256_sub_pd(c[v], _mm256_sub_pd(normal, s[v]));
        s[v] = normal;
      }
    }
  }
  for (size_t v = 0; v < kVectors; ++v) {
    const __m256d normal = _mm256_add_pd(s[v], c[v]);
    _mm256_storeu_pd(hi + 4 * v, normal);
    _mm256_storeu_pd(lo + 4 * v, _mm256_sub_pd(c[v], _mm256_sub_pd(normal, s[v])));
  }
}

// Three vectors hide the latencies. Returns the rows that are done.
EXPUNGE_WIDE size_t SubtractProductsWide(const double* a, size_t stride, size_t m, const double* x_hi,
                                         const double* x_lo, double* hi, double* lo) {
  size_t i = 0;
  for (; i + 12 <= m; i += 12) SubtractProductsOfBlock<3>(a + i, stride, m, x_hi, x_lo, hi + i, lo + i);
  for (; i + 4 <= m; i += 4) SubtractProductsOfBlock<1>(a + i, stride, m, x_hi, x_lo, hi + i, lo + i);
  return i;
}

#endif

}  // namespace

void SolveLower(const double* l, size_t stride, size_t m, double* x) {
#if EXPUNGE_HAS_WIDE
  if (WideVectors()) return SolveLowerWide(l, stride, m, x);
#endif
  SolveLowerLoop(l, stride, m, x);
}

void SolveUpper(const double* l, size_t stride, size_t m, double* x) {
#if EXPUNGE_HAS_WIDE
  if (WideVectors()) return SolveUpperWide(l, stride, m, x);
#endif
  SolveUpperLoop(l, stride, m, x);
}

void RemoveFromFactor(double* l, size_t stride, size_t m, size_t k, double* work) {
#if EXPUNGE_HAS_WIDE
  if (WideVectors()) return RemoveFromFactorWide(l, stride, m, k, work);
#endif
  RemoveFromFactorLoop(l, stride, m, k, work);
}

void RemoveFromMatrix(double* a, size_t stride, size_t m, size_t k) {
  for (size_t j = 0; j < m; ++j) {
    if (j == k) continue;
    const double* column = a + j * stride;
    double* target = a + (j < k ? j : j - 1) * stride;
    if (target != column) std::memcpy(target, column, k * sizeof(double));
    std::memmove(target + k, column + k + 1, (m - k - 1) * sizeof(double));
  }
}

void SubtractProducts(const double* a, size_t stride, size_t m, const double* x_hi, const double* x_lo,
                      double* hi, double* lo) {
  size_t done = 0;
#if EXPUNGE_HAS_WIDE
  if (WideVectors()) done = SubtractProductsWide(a, stride, m, x_hi, x_lo, hi, lo);
#endif
  SubtractProductsOfRows(a, stride, m, x_hi, x_lo, done, m, hi, lo);
}

void AccumulateRows(const float* const* rows, const float* weights, size_t count, const double* initial,
                    double scale, size_t n, double* out) {
#if EXPUNGE_HAS_WIDE
  if (WideVectors()) return AccumulateRowsWide(rows, weights, count, initial, scale, n, out);
#endif
  AccumulateRowsLoop(rows, weights, count, initial, scale, n, out);
}

void AddRow(const float* row, double scale, size_t n, double* target) {
#if EXPUNGE_HAS_WIDE
  if (WideVectors()) return AddRowWide(row, scale, n, target);
#endif
  AddRowLoop(row, scale, n, target);
}

}  // namespace expunge::solver::dense
