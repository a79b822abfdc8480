// Exponentials of vectors. For each vector unit.
#if defined(EXPUNGE_ATTENTION_CPU_EXPONENTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef EXPUNGE_ATTENTION_CPU_EXPONENTIAL_INL_H_
#undef EXPUNGE_ATTENTION_CPU_EXPONENTIAL_INL_H_
#else
#define EXPUNGE_ATTENTION_CPU_EXPONENTIAL_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace expunge::attention::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 2^x = 2^k 2^r with k = round(x), |r| <= 1/2 exact, and 2^r = 1 + r q(r) by minimax polynomials of relative
// error 2^-28.5 and 2^-55.6 (Remez, in 200 bits, before their coefficients were rounded). Adding 1.5 times
// 2^23 or 2^52 rounds, and leaves k in the low bits.
template <typename T>
struct Exp2Constants;
template <>
struct Exp2Constants<float> {
  static constexpr float kSmallest = -125;
  static constexpr float kShift = 0x1.8p23F;
  static constexpr int kMantissaBits = 23;
  static constexpr float kPolynomial[] = {
      0x1.470b4ap-13F, 0x1.5f7276p-10F, 0x1.3b270ep-7F, 0x1.c6ae72p-5F, 0x1.ebfbe2p-3F, 0x1.62e432p-1F, 1.0F};
};
template <>
struct Exp2Constants<double> {
  static constexpr double kSmallest = -1020;
  static constexpr double kShift = 0x1.8p52;
  static constexpr int kMantissaBits = 52;
  static constexpr double kPolynomial[] = {
      0x1.c0638527edf34p-32, 0x1.e605f979c7a5dp-28, 0x1.b54167a0b9061p-24, 0x1.62bfd49ed0adfp-20,
      0x1.ffcbee3b0af8cp-17, 0x1.4309130961163p-13, 0x1.5d87fe7bbbe07p-10, 0x1.3b2ab6fba1e1cp-7,
      0x1.c6b08d7048f31p-5,  0x1.ebfbdff82c598p-3,  0x1.62e42fefa39f3p-1,  1.0};
};

// Step of Horner's rule, unrolled.
template <class D, class V, size_t kDegree, typename T = hn::TFromD<D>>
HWY_INLINE V Polynomial(D d, V r, const T (&coefficients)[kDegree]) {
  V p = hn::Set(d, coefficients[0]);
  for (size_t i = 1; i < kDegree; ++i) p = hn::MulAdd(p, r, hn::Set(d, coefficients[i]));
  return p;
}

// 2^x for x <= 64; 0 below kSmallest.
template <class D, class V>
HWY_INLINE V Exp2(D d, V x) {
  using C = Exp2Constants<hn::TFromD<D>>;
  const hn::RebindToSigned<D> di;
  const V shift = hn::Set(d, C::kShift);
  const V shifted = hn::Add(x, shift);
  const V r = hn::Sub(x, hn::Sub(shifted, shift));
  const V p = Polynomial(d, r, C::kPolynomial);
  const auto k = hn::ShiftLeft<C::kMantissaBits>(hn::BitCast(di, shifted));
  const V result = hn::BitCast(d, hn::Add(hn::BitCast(di, p), k));
  return hn::IfThenElseZero(hn::Ge(x, hn::Set(d, C::kSmallest)), result);
}

// exp(-t) for t >= 0, infinity included: relative error at most 2^-49, or 0 for t > 700. Multiplications and
// additions alone, in one order: the same bits from every vector unit. t = k ln 2 - r, |r| <= ln(2) / 2, and
// the Taylor series to the 13th power.
template <class D, class V>
HWY_INLINE V ExpOfNegative(D d, V t) {
  constexpr double kLn2High = 0x1.62e42fefa3800p-1;  // 42 bits: k * kLn2High is exact
  constexpr double kLn2Low = 0x1.ef35793c76730p-45;
  constexpr double kSeries[] = {1.0 / 479001600.0,
                                1.0 / 39916800.0,
                                1.0 / 3628800.0,
                                1.0 / 362880.0,
                                1.0 / 40320.0,
                                1.0 / 5040.0,
                                1.0 / 720.0,
                                1.0 / 120.0,
                                1.0 / 24.0,
                                1.0 / 6.0,
                                0.5,
                                1.0,
                                1.0};
  const hn::RebindToUnsigned<D> du;
  const V largest = hn::Set(d, 700.0);
  const V clamped = hn::Min(t, largest);
  const V shift = hn::Set(d, 0x1.8p52);
  const V shifted = hn::Add(hn::Mul(clamped, hn::Set(d, 0x1.71547652b82fep+0)), shift);
  const V k = hn::Sub(shifted, shift);
  const V r = hn::Add(hn::Sub(hn::Mul(k, hn::Set(d, kLn2High)), clamped), hn::Mul(k, hn::Set(d, kLn2Low)));
  V p = hn::Set(d, 1.0 / 6227020800.0);
  for (const double coefficient : kSeries) p = hn::Add(hn::Mul(p, r), hn::Set(d, coefficient));
  // The low bits of `shifted` hold k: 2^-k by its exponent bits, 1 <= 1023 - k.
  const auto scale = hn::ShiftLeft<52>(hn::Sub(hn::Set(du, uint64_t{1023}), hn::BitCast(du, shifted)));
  return hn::IfThenElseZero(hn::Le(t, largest), hn::Mul(p, hn::BitCast(d, scale)));
}

}  // namespace HWY_NAMESPACE
}  // namespace expunge::attention::cpu
HWY_AFTER_NAMESPACE();

#endif  // EXPUNGE_ATTENTION_CPU_EXPONENTIAL_INL_H_
