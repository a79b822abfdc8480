#include "solver/kernel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <optional>

#include "solver/cpu.h"
#include "solver/double_double.h"

#if EXPUNGE_HAS_WIDE
#include <immintrin.h>
#endif

namespace expunge::solver {
namespace {

// 2^(-j/64), j = 0..63, to 106 bits.
constexpr DoubleDouble kPowers[64] = {{0x1.0000000000000p+0, 0x0.0p+0},
                                      {0x1.fa7c1819e90d8p-1, 0x1.74853f3a5931ep-56},
                                      {0x1.f50765b6e4540p-1, 0x1.9d3e12dd8a18bp-55},
                                      {0x1.efa1bee615a27p-1, 0x1.dc7f486a4b6b0p-55},
                                      {0x1.ea4afa2a490dap-1, -0x1.e9c23179c2893p-55},
                                      {0x1.e502ee78b3ff6p-1, 0x1.39e8980a9cc8fp-56},
                                      {0x1.dfc97337b9b5fp-1, -0x1.1a5cd4f184b5cp-55},
                                      {0x1.da9e603db3285p-1, 0x1.c2300696db532p-55},
                                      {0x1.d5818dcfba487p-1, 0x1.2ed02d75b3707p-56},
                                      {0x1.d072d4a07897cp-1, -0x1.cbc3743797a9cp-55},
                                      {0x1.cb720dcef9069p-1, 0x1.503cbd1e949dbp-57},
                                      {0x1.c67f12e57d14bp-1, 0x1.2884dff483cadp-55},
                                      {0x1.c199bdd85529cp-1, 0x1.11065895048ddp-56},
                                      {0x1.bcc1e904bc1d2p-1, 0x1.23dd07a2d9e84p-56},
                                      {0x1.b7f76f2fb5e47p-1, -0x1.5584f7e54ac3bp-57},
                                      {0x1.b33a2b84f15fbp-1, -0x1.2805e3084d708p-58},
                                      {0x1.ae89f995ad3adp-1, 0x1.7a1cd345dcc81p-55},
                                      {0x1.a9e6b5579fdbfp-1, 0x1.0fac90ef7fd31p-55},
                                      {0x1.a5503b23e255dp-1, -0x1.d2f6edb8d41e1p-55},
                                      {0x1.a0c667b5de565p-1, -0x1.359495d1cd533p-55},
                                      {0x1.9c49182a3f090p-1, 0x1.c7c46b071f2bep-57},
                                      {0x1.97d829fde4e50p-1, -0x1.d185b7c1b85d1p-55},
                                      {0x1.93737b0cdc5e5p-1, -0x1.75fc781b57ebcp-58},
                                      {0x1.8f1ae99157736p-1, 0x1.5cc13a2e3976cp-56},
                                      {0x1.8ace5422aa0dbp-1, 0x1.6e9f156864b27p-55},
                                      {0x1.868d99b4492edp-1, -0x1.fc6f89bd4f6bap-55},
                                      {0x1.82589994cce13p-1, -0x1.d4c1dd41532d8p-55},
                                      {0x1.7e2f336cf4e62p-1, 0x1.05d02ba15797ep-57},
                                      {0x1.7a11473eb0187p-1, -0x1.41577ee04992fp-56},
                                      {0x1.75feb564267c9p-1, -0x1.0245957316dd3p-55},
                                      {0x1.71f75e8ec5f74p-1, -0x1.16e4786887a99p-56},
                                      {0x1.6dfb23c651a2fp-1, -0x1.bbe3a683c88abp-58},
                                      {0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55},
                                      {0x1.6623882552225p-1, -0x1.bb60987591c34p-55},
                                      {0x1.6247eb03a5585p-1, -0x1.383c17e40b497p-55},
                                      {0x1.5e76f15ad2148p-1, 0x1.ba6f93080e65ep-55},
                                      {0x1.5ab07dd485429p-1, 0x1.6324c054647adp-55},
                                      {0x1.56f4736b527dap-1, 0x1.9bb2c011d93adp-55},
                                      {0x1.5342b569d4f82p-1, -0x1.07abe1db13cadp-56},
                                      {0x1.4f9b2769d2ca7p-1, -0x1.4b309d25957e3p-55},
                                      {0x1.4bfdad5362a27p-1, 0x1.d4397afec42e2p-57},
                                      {0x1.486a2b5c13cd0p-1, 0x1.3c1a3b69062f0p-57},
                                      {0x1.44e086061892dp-1, 0x1.89b7a04ef80d0p-60},
                                      {0x1.4160a21f72e2ap-1, -0x1.ef3691c309278p-59},
                                      {0x1.3dea64c123422p-1, 0x1.ada0911f09ebcp-56},
                                      {0x1.3a7db34e59ff7p-1, -0x1.5e436d661f5e3p-57},
                                      {0x1.371a7373aa9cbp-1, -0x1.63aeabf42eae2p-55},
                                      {0x1.33c08b26416ffp-1, 0x1.32721843659a6p-55},
                                      {0x1.306fe0a31b715p-1, 0x1.6f46ad23182e4p-56},
                                      {0x1.2d285a6e4030bp-1, 0x1.0024754db41d5p-55},
                                      {0x1.29e9df51fdee1p-1, 0x1.612e8afad1255p-56},
                                      {0x1.26b4565e27cddp-1, 0x1.2bd339940e9d9p-56},
                                      {0x1.2387a6e756238p-1, 0x1.9b07eb6c70573p-55},
                                      {0x1.2063b88628cd6p-1, 0x1.dc775814a8495p-56},
                                      {0x1.1d4873168b9aap-1, 0x1.e016e00a2643cp-55},
                                      {0x1.1a35beb6fcb75p-1, 0x1.e5b4c7b4968e4p-56},
                                      {0x1.172b83c7d517bp-1, -0x1.19041b9d78a76p-56},
                                      {0x1.1429aaea92de0p-1, -0x1.32fbf9af1369ep-55},
                                      {0x1.11301d0125b51p-1, -0x1.6c51039449b3ap-55},
                                      {0x1.0e3ec32d3d1a2p-1, 0x1.03a1727c57b53p-60},
                                      {0x1.0b5586cf9890fp-1, 0x1.8a62e4adc610bp-55},
                                      {0x1.0874518759bc8p-1, 0x1.186be4bb284ffp-58},
                                      {0x1.059b0d3158574p-1, 0x1.d73e2a475b465p-56},
                                      {0x1.02c9a3e778061p-1, -0x1.19083535b085dp-57}};

// ln(2)/64 in parts: k * kStep1 and k * kStep2 are exact for integers k < 2^17.
constexpr double kStep1 = 0x1.62e42fefa0000p-7;
constexpr double kStep2 = 0x1.cf79abc9e0000p-46;
constexpr double kStep3 = 0x1.d9cc01f97b57ap-85;
constexpr double kInverseStep = 0x1.71547652b82fep+6;

// The Taylor series of exp, highest degree first: 11 to 6 in doubles, 5 to 0 in double-double.
constexpr double kTail[] = {0x1.ae64567f544e4p-26,  // 1/11!
                            0x1.27e4fb7789f5cp-22, 0x1.71de3a556c734p-19, 0x1.a01a01a01a01ap-16,
                            0x1.a01a01a01a01ap-13, 0x1.6c16c16c16c17p-10};
constexpr DoubleDouble kSeries[] = {{0x1.1111111111111p-7, 0x1.1111111111111p-63},  // 1/5!
                                    {0x1.5555555555555p-5, 0x1.5555555555555p-59},
                                    {0x1.5555555555555p-3, 0x1.5555555555555p-57},
                                    {0.5, 0},
                                    {1, 0},
                                    {1, 0}};

// exp(r) for |r| <= 0.0055. Relative error < 2^-100.
DoubleDouble ExpOfSmall(DoubleDouble r) {
  double tail = kTail[0];
  for (size_t i = 1; i < std::size(kTail); ++i) tail = tail * r.hi + kTail[i];
  DoubleDouble sum = {tail, 0};
  for (const DoubleDouble& coefficient : kSeries) sum = sum * r + coefficient;
  return sum;
}

// |x - y|^2 with relative error at most (d + 9) 2^-104, barring underflow. Four chains, so that they overlap
// in the CPU.
DoubleDouble SquaredDistance(const double* x, const double* y, size_t d) {
  DoubleDouble sums[4];
  for (size_t k = 0; k < d; ++k) {
    const DoubleDouble difference = TwoSum(x[k], -y[k]);
    DoubleDouble square = TwoProd(difference.hi, difference.hi);
    square.lo += 2 * difference.hi * difference.lo;
    DoubleDouble& sum = sums[k & 3];
    const DoubleDouble s = TwoSum(sum.hi, square.hi);
    sum = FastTwoSum(s.hi, s.lo + (sum.lo + square.lo));
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

constexpr size_t kLanes = 8;  // pairs whose distances are summed together

// Adds |x - y|^2 to sums + errors for kLanes vectors y, transposed: element k of vector v at
// ys[k * kLanes + v]. One chain of sums a lane, with the errors summed apart (Ogita, Rump and Oishi, SIAM J.
// Sci. Comput. 26, 2005): relative error at most (d^2/4 + 4d + 16) 2^-104, barring underflow.
void SquaredDistances(const double* x, const double* ys, size_t d, double* sums, double* errors) {
  for (size_t k = 0; k < d; ++k) {
    const double xk = x[k];
    const double* y = ys + k * kLanes;
    for (size_t v = 0; v < kLanes; ++v) {
      const DoubleDouble difference = TwoSum(xk, -y[v]);
      const DoubleDouble square = TwoProd(difference.hi, difference.hi);
      const DoubleDouble sum = TwoSum(sums[v], square.hi);
      sums[v] = sum.hi;
      errors[v] += sum.lo + (square.lo + 2 * difference.hi * difference.lo);
    }
  }
}

#if EXPUNGE_HAS_WIDE
// The same operations, four lanes to a vector.
EXPUNGE_WIDE void SquaredDistancesWide(const double* x, const double* ys, size_t d, double* sum_out,
                                       double* error_out) {
  constexpr size_t kVectors = kLanes / 4;
  __m256d sums[kVectors] = {_mm256_loadu_pd(sum_out), _mm256_loadu_pd(sum_out + 4)};
  __m256d errors[kVectors] = {_mm256_loadu_pd(error_out), _mm256_loadu_pd(error_out + 4)};
  for (size_t k = 0; k < d; ++k) {
    const __m256d xk = _mm256_set1_pd(x[k]);
    for (size_t v = 0; v < kVectors; ++v) {
      const __m256d y = _mm256_loadu_pd(ys + k * kLanes + 4 * v);
      const __m256d s = _mm256_sub_pd(xk, y);
      const __m256d bb = _mm256_sub_pd(s, xk);
      const __m256d e = _mm256_sub_pd(_mm256_sub_pd(xk, _mm256_sub_pd(s, bb)), _mm256_add_pd(y, bb));
      const __m256d square = _mm256_mul_pd(s, s);
      const __m256d low = _mm256_fmsub_pd(s, s, square);
      const __m256d cross = _mm256_mul_pd(_mm256_add_pd(s, s), e);
      const __m256d sum = _mm256_add_pd(sums[v], square);
      const __m256d sb = _mm256_sub_pd(sum, sums[v]);
      const __m256d sum_low =
          _mm256_add_pd(_mm256_sub_pd(sums[v], _mm256_sub_pd(sum, sb)), _mm256_sub_pd(square, sb));
      sums[v] = sum;
      errors[v] = _mm256_add_pd(errors[v], _mm256_add_pd(sum_low, _mm256_add_pd(low, cross)));
    }
  }
  for (size_t v = 0; v < kVectors; ++v) {
    _mm256_storeu_pd(sum_out + 4 * v, sums[v]);
    _mm256_storeu_pd(error_out + 4 * v, errors[v]);
  }
}
#endif

void AddSquaredDistances(const double* x, const double* ys, size_t d, double* sums, double* errors) {
#if EXPUNGE_HAS_WIDE
  if (WideVectors()) return SquaredDistancesWide(x, ys, d, sums, errors);
#endif
  SquaredDistances(x, ys, d, sums, errors);
}

// The double nearest to exp(-gamma D) for D within distance.hi * distance_error * 2^-104 of `distance`, or
// nothing where it is not certain.
std::optional<double> RoundedKernel(DoubleDouble distance, double distance_error, double gamma) {
  // Below this, lost low parts of squares might matter, or the distance be exactly 0: unless t is tiny in any
  // case.
  const double t_estimate = gamma * distance.hi;
  if (distance.hi < 0x1p-800) {
    if (gamma <= 0x1p+700) return 1.0;  // t < 2^-90: nearer to 1 than half the gap below 1
    return std::nullopt;
  }
  if (t_estimate < 0x1p-55) return 1.0;
  if (t_estimate > 746) return 0.0;  // exp(-t) < 2^-1076
  // Near the subnormal range, or where splitting a factor of gamma |x - y|^2 would overflow.
  if (!(t_estimate < 699) || gamma > 0x1p+990 || distance.hi > 0x1p+990) return std::nullopt;

  const DoubleDouble t = distance * gamma;
  // Rounding by the magic constant: the same in every mode of compilation.
  const double k = (t.hi * kInverseStep + 0x1.8p52) - 0x1.8p52;
  DoubleDouble r = TwoSum(k * kStep1, -t.hi);
  r = r + DoubleDouble{k * kStep2, 0};
  r = r + (-t.lo);
  r = r + k * kStep3;
  const auto index = static_cast<int64_t>(k);
  const DoubleDouble y_scaled = ExpOfSmall(r) * kPowers[index & 63];
  const double error = 0x1p-97 + t.hi * (distance_error + 3) * 0x1p-104;  // relative
  if (!RoundsToHi(y_scaled, y_scaled.hi * error)) return std::nullopt;
  return std::ldexp(y_scaled.hi, -static_cast<int>(index >> 6));  // exact: the result is above 2^-1010
}

#if EXPUNGE_HAS_WIDE
// Four unevaluated sums hi + lo.
struct WideDoubleDouble {
  __m256d hi;
  __m256d lo;
};

EXPUNGE_WIDE EXPUNGE_INLINE WideDoubleDouble FastTwoSumWide(__m256d a, __m256d b) {
  const __m256d s = _mm256_add_pd(a, b);
  return {s, _mm256_sub_pd(b, _mm256_sub_pd(s, a))};
}

EXPUNGE_WIDE EXPUNGE_INLINE WideDoubleDouble TwoSumWide(__m256d a, __m256d b) {
  const __m256d s = _mm256_add_pd(a, b);
  const __m256d bb = _mm256_sub_pd(s, a);
  return {s, _mm256_add_pd(_mm256_sub_pd(a, _mm256_sub_pd(s, bb)), _mm256_sub_pd(b, bb))};
}

EXPUNGE_WIDE EXPUNGE_INLINE WideDoubleDouble AddWide(WideDoubleDouble a, WideDoubleDouble b) {
  const WideDoubleDouble t = TwoSumWide(a.lo, b.lo);
  WideDoubleDouble s = TwoSumWide(a.hi, b.hi);
  s = FastTwoSumWide(s.hi, _mm256_add_pd(s.lo, t.hi));
  return FastTwoSumWide(s.hi, _mm256_add_pd(s.lo, t.lo));
}

EXPUNGE_WIDE EXPUNGE_INLINE WideDoubleDouble MultiplyWide(WideDoubleDouble a, WideDoubleDouble b) {
  const __m256d p = _mm256_mul_pd(a.hi, b.hi);
  const __m256d e = _mm256_fmsub_pd(a.hi, b.hi, p);
  const __m256d cross = _mm256_add_pd(_mm256_mul_pd(a.hi, b.lo), _mm256_mul_pd(a.lo, b.hi));
  return FastTwoSumWide(p, _mm256_add_pd(e, cross));
}

EXPUNGE_WIDE EXPUNGE_INLINE __m256d AllOf(double x) { return _mm256_set1_pd(x); }

// RoundedKernel for four distances in its general case, by the same steps. Returns the lanes that are
// decided, a bit for each.
EXPUNGE_WIDE unsigned RoundedKernelsWide(const double* sums, const double* errors, double distance_error,
                                         double gamma, double* out) {
  const WideDoubleDouble distance = FastTwoSumWide(_mm256_loadu_pd(sums), _mm256_loadu_pd(errors));
  const __m256d t_estimate = _mm256_mul_pd(AllOf(gamma), distance.hi);
  if (!(gamma <= 0x1p+990)) return 0;
  __m256d decided = _mm256_and_pd(_mm256_cmp_pd(distance.hi, AllOf(0x1p-800), _CMP_GE_OQ),
                                  _mm256_cmp_pd(distance.hi, AllOf(0x1p+990), _CMP_LE_OQ));
  decided = _mm256_and_pd(decided, _mm256_and_pd(_mm256_cmp_pd(t_estimate, AllOf(0x1p-55), _CMP_GE_OQ),
                                                 _mm256_cmp_pd(t_estimate, AllOf(699), _CMP_LT_OQ)));
  if (_mm256_movemask_pd(decided) == 0) return 0;

  const __m256d zero = _mm256_setzero_pd();
  const WideDoubleDouble t = MultiplyWide(distance, {AllOf(gamma), zero});
  const __m256d shifted = _mm256_add_pd(_mm256_mul_pd(t.hi, AllOf(kInverseStep)), AllOf(0x1.8p52));
  const __m256d k = _mm256_sub_pd(shifted, AllOf(0x1.8p52));
  WideDoubleDouble r = TwoSumWide(_mm256_mul_pd(k, AllOf(kStep1)), _mm256_sub_pd(zero, t.hi));
  r = AddWide(r, {_mm256_mul_pd(k, AllOf(kStep2)), zero});
  r = AddWide(r, {_mm256_sub_pd(zero, t.lo), zero});
  r = AddWide(r, {_mm256_mul_pd(k, AllOf(kStep3)), zero});
  __m256d tail = AllOf(kTail[0]);
  for (size_t i = 1; i < std::size(kTail); ++i)
    tail = _mm256_add_pd(_mm256_mul_pd(tail, r.hi), AllOf(kTail[i]));
  WideDoubleDouble y = {tail, zero};
  for (const DoubleDouble& coefficient : kSeries)
    y = AddWide(MultiplyWide(y, r), {AllOf(coefficient.hi), AllOf(coefficient.lo)});

  alignas(32) uint64_t bits[4];  // the low ones are k
  _mm256_store_pd(reinterpret_cast<double*>(bits), shifted);
  alignas(32) double power_hi[4];
  alignas(32) double power_lo[4];
  alignas(32) double scale[4];
  for (size_t v = 0; v < 4; ++v) {
    const uint64_t index = bits[v] & 0x3ffff;
    power_hi[v] = kPowers[index & 63].hi;
    power_lo[v] = kPowers[index & 63].lo;
    scale[v] = std::bit_cast<double>((uint64_t{1023} - (index >> 6)) << 52);
  }
  y = MultiplyWide(y, {_mm256_load_pd(power_hi), _mm256_load_pd(power_lo)});

  // RoundsToHi: y.hi is positive, and 2^e <= y.hi < 2^(e + 1).
  const __m256d error = _mm256_mul_pd(
      y.hi, _mm256_add_pd(AllOf(0x1p-97), _mm256_mul_pd(t.hi, AllOf((distance_error + 3) * 0x1p-104))));
  const __m256d power = _mm256_and_pd(y.hi, AllOf(std::bit_cast<double>(uint64_t{0x7ff} << 52)));
  const __m256d away = _mm256_mul_pd(power, AllOf(0x1p-53 * (1 - 0x1p-50)));
  const __m256d at_power = _mm256_cmp_pd(y.hi, power, _CMP_EQ_OQ);
  const __m256d toward = _mm256_blendv_pd(away, _mm256_mul_pd(away, AllOf(0.5)), at_power);
  decided = _mm256_and_pd(decided, _mm256_cmp_pd(_mm256_add_pd(y.lo, error), away, _CMP_LT_OQ));
  decided = _mm256_and_pd(decided, _mm256_cmp_pd(_mm256_sub_pd(error, y.lo), toward, _CMP_LT_OQ));
  _mm256_storeu_pd(out, _mm256_mul_pd(y.hi, _mm256_load_pd(scale)));
  return static_cast<unsigned>(_mm256_movemask_pd(decided));
}
#endif

// Bit v is set if out[v] is the value for sums[v] + errors[v]; the others are left to RoundedKernel.
unsigned RoundManyKernels(const double* sums, const double* errors, double distance_error, double gamma,
                          double* out) {
  static_assert(kLanes == 8);
#if EXPUNGE_HAS_WIDE
  if (WideVectors()) {
    const unsigned low = RoundedKernelsWide(sums, errors, distance_error, gamma, out);
    return low | RoundedKernelsWide(sums + 4, errors + 4, distance_error, gamma, out + 4) << 4;
  }
#endif
  return 0;
}

}  // namespace

double ExactKernel(const double* x, const double* y, size_t d, double gamma) {
  const auto value = RoundedKernel(SquaredDistance(x, y, d), static_cast<double>(d) + 9, gamma);
  return value.has_value() ? *value : ExactKernelByBalls(x, y, d, gamma);
}

void ExactKernels(const double* x, const double* const* ys, size_t count, size_t d, double gamma,
                  double* out) {
  constexpr size_t kPanel = 256;  // dimensions transposed at a time
  const auto dimension = static_cast<double>(d);
  const double distance_error = 0.25 * dimension * dimension + 4 * dimension + 16;
  alignas(64) double panel[kPanel * kLanes];
  for (size_t begin = 0; begin < count; begin += kLanes) {
    const size_t lanes = std::min(kLanes, count - begin);
    double sums[kLanes] = {};
    double errors[kLanes] = {};
    for (size_t from = 0; from < d; from += kPanel) {
      const size_t length = std::min(kPanel, d - from);
      for (size_t v = 0; v < kLanes; ++v) {
        const double* y = ys[begin + (v < lanes ? v : 0)] + from;
        for (size_t k = 0; k < length; ++k) panel[k * kLanes + v] = y[k];
      }
      AddSquaredDistances(x + from, panel, length, sums, errors);
    }
    double values[kLanes];
    const unsigned decided = RoundManyKernels(sums, errors, distance_error, gamma, values);
    for (size_t v = 0; v < lanes; ++v) {
      if ((decided >> v & 1) != 0) {
        out[begin + v] = values[v];
        continue;
      }
      const auto value = RoundedKernel(FastTwoSum(sums[v], errors[v]), distance_error, gamma);
      out[begin + v] = value.has_value() ? *value : ExactKernelByBalls(x, ys[begin + v], d, gamma);
    }
  }
}

}  // namespace expunge::solver
