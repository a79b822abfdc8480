#include <cmath>

#include "solver/exact_numbers.h"
#include "solver/kernel.h"

namespace expunge::solver {

double ExactKernelByBalls(const double* x, const double* y, size_t d, double gamma) {
  Float sum;
  Float difference;
  Float other;
  for (size_t k = 0; k < d; ++k) {
    arf_set_d(difference, x[k]);
    arf_set_d(other, y[k]);
    arf_sub(difference, difference, other, ARF_PREC_EXACT, ARF_RND_DOWN);
    arf_mul(difference, difference, difference, ARF_PREC_EXACT, ARF_RND_DOWN);
    arf_add(sum, sum, difference, ARF_PREC_EXACT, ARF_RND_DOWN);
  }
  if (arf_is_zero(sum)) return 1.0;
  arf_set_d(other, gamma);
  arf_mul(sum, sum, other, ARF_PREC_EXACT, ARF_RND_DOWN);
  if (arf_cmp_d(sum, 746) > 0) return 0.0;  // exp(-t) < 2^-1076: nearer to 0 than half the smallest subnormal
  if (arf_cmp_d(sum, 0x1p-55) < 0) return 1.0;  // nearer to 1 than half the gap below 1
  Ball argument;
  Ball result;
  arb_set_arf(argument, sum);
  arb_neg(argument, argument);
  for (slong precision = 160;; precision *= 2) {
    arb_exp(result, argument, precision);
    if (const auto rounded = RoundToDouble(result)) return rounded->value;
  }
}

}  // namespace expunge::solver
