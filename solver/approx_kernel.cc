// ApproxKernelRow and what it needs: plain doubles, in vectors.
#include <bit>
#include <cmath>
#include <cstdint>

#include "solver/cpu.h"
#include "solver/kernel.h"

namespace expunge::solver {
namespace {

EXPUNGE_INLINE double ExpOfNegativeInline(double t) {
  constexpr double kLn2High = 0x1.62e42fefa3800p-1;  // 42 bits: k * kLn2High is exact
  constexpr double kLn2Low = 0x1.ef35793c76730p-45;
  const double clamped = t < 700 ? t : 700;
  const double shifted = clamped * 0x1.71547652b82fep+0 + 0x1.8p52;
  const double k = shifted - 0x1.8p52;
  const double r = (k * kLn2High - clamped) + k * kLn2Low;
  double p = 1.0 / 6227020800.0;  // 1/13!
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  // The low bits of `shifted` hold k: 2^-k by its exponent bits, 1 <= 1023 - k.
  const uint64_t scale = (uint64_t{1023} - std::bit_cast<uint64_t>(shifted)) << 52;
  const double result = p * std::bit_cast<double>(scale);
  return t <= 700 ? result : 0.0;
}

// Some columns at a time, so that their sums stay in registers; each is summed in the order of k.
EXPUNGE_INLINE void ApproxKernelRowLoop(const double* x, const double* columns, size_t d, size_t n,
                                        size_t stride, double gamma, double* out) {
  constexpr size_t kColumns = 16;
  size_t j = 0;
  for (; j + kColumns <= n; j += kColumns) {
    double sums[kColumns] = {};
    for (size_t k = 0; k < d; ++k) {
      const double* column = columns + k * stride + j;
      for (size_t v = 0; v < kColumns; ++v) {
        const double difference = column[v] - x[k];
        sums[v] += difference * difference;
      }
    }
    for (size_t v = 0; v < kColumns; ++v) out[j + v] = ExpOfNegativeInline(gamma * sums[v]);
  }
  for (; j < n; ++j) {
    double sum = 0;
    for (size_t k = 0; k < d; ++k) {
      const double difference = columns[k * stride + j] - x[k];
      sum += difference * difference;
    }
    out[j] = ExpOfNegativeInline(gamma * sum);
  }
}

#if EXPUNGE_HAS_WIDE
EXPUNGE_WIDE void ApproxKernelRowWide(const double* x, const double* columns, size_t d, size_t n,
                                      size_t stride, double gamma, double* out) {
  ApproxKernelRowLoop(x, columns, d, n, stride, gamma, out);
}
#endif

}  // namespace

double ExpOfNegative(double t) { return ExpOfNegativeInline(t); }

void ApproxKernelRow(const double* x, const double* columns, size_t d, size_t n, size_t stride, double gamma,
                     double* out) {
#if EXPUNGE_HAS_WIDE
  if (WideVectors()) return ApproxKernelRowWide(x, columns, d, n, stride, gamma, out);
#endif
  ApproxKernelRowLoop(x, columns, d, n, stride, gamma, out);
}

double ApproxKernelError(size_t d, double gamma) {
  // Relative error of gamma |x - y|^2: (d + 4) u; t exp(-t) <= 1/e < 0.37; exponential 2^-49, rounding of the
  // exact kernel u. A square below the normal range has an absolute error, which a gamma near the other end
  // of the range makes felt.
  return (0.5 * static_cast<double>(d + 4) + 20) * 0x1p-53 + static_cast<double>(d) * (0x1p-1073 * gamma);
}

}  // namespace expunge::solver
