// Double-double arithmetic: an unevaluated sum hi + lo with hi = RN(hi + lo), about 106 bits.
//
// With u = 2^-53, every operation below has relative error at most 8 u^2 = 2^-103 (Joldes, Muller and
// Popescu, "Tight and rigorous error bounds for basic building blocks of double-word arithmetic", ACM TOMS
// 44(2), 2017, proves 3u^2 to 7u^2), barring overflow and results below 2^-900, where the error terms of
// products would leave the range of a double. Contraction would break TwoSum and the splitting in TwoProd:
// compile with -ffp-contract=off.
#ifndef EXPUNGE_SOLVER_DOUBLE_DOUBLE_H_
#define EXPUNGE_SOLVER_DOUBLE_DOUBLE_H_

#include <cmath>

namespace expunge::solver {

struct DoubleDouble {
  double hi = 0;
  double lo = 0;
};

// The relative error of one operation, and of a short chain of them.
inline constexpr double kDoubleDoubleError = 0x1p-103;

// a + b exactly.
inline DoubleDouble TwoSum(double a, double b) {
  const double s = a + b;
  const double bb = s - a;
  return {s, (a - (s - bb)) + (b - bb)};
}

// a + b exactly. REQUIRES: |a| >= |b| or a = 0.
inline DoubleDouble FastTwoSum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}

// a * b exactly, with either instruction set: the results are the same bits.
inline DoubleDouble TwoProd(double a, double b) {
  const double p = a * b;
#ifdef __FMA__
  return {p, __builtin_fma(a, b, -p)};
#else
  constexpr double kSplit = 134217729.0;  // 2^27 + 1
  const double ca = kSplit * a;
  const double ah = ca - (ca - a);
  const double al = a - ah;
  const double cb = kSplit * b;
  const double bh = cb - (cb - b);
  const double bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
#endif
}

inline DoubleDouble operator-(DoubleDouble a) { return {-a.hi, -a.lo}; }

inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  DoubleDouble s = TwoSum(a.hi, b.hi);
  const DoubleDouble t = TwoSum(a.lo, b.lo);
  s = FastTwoSum(s.hi, s.lo + t.hi);
  return FastTwoSum(s.hi, s.lo + t.lo);
}

inline DoubleDouble operator+(DoubleDouble a, double b) {
  const DoubleDouble s = TwoSum(a.hi, b);
  return FastTwoSum(s.hi, s.lo + a.lo);
}

inline DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + (-b); }

inline DoubleDouble operator*(DoubleDouble a, double b) {
  const DoubleDouble p = TwoProd(a.hi, b);
  return FastTwoSum(p.hi, p.lo + a.lo * b);
}

inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble p = TwoProd(a.hi, b.hi);
  return FastTwoSum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

// Half the gap between |x| and its neighbours: `x + e` rounds to x for every e of x's sign with |e| < `away`,
// and of the other sign with |e| < `toward`. REQUIRES: x finite, |x| >= 2^-1021.
struct HalfGaps {
  double away;
  double toward;
};
inline HalfGaps HalfGapsOf(double x) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);
  const double away = std::ldexp(1.0, exponent - 54);
  return {away, fraction == 0.5 ? away / 2 : away};
}

// True if every real within `error` of `x` rounds to x.hi. False is no statement.
inline bool RoundsToHi(DoubleDouble x, double error) {
  if (!(std::fabs(x.hi) >= 0x1p-1021) || !std::isfinite(error)) return false;
  const HalfGaps gaps = HalfGapsOf(x.hi);
  const double outward = x.hi > 0 ? x.lo : -x.lo;  // > 0: away from zero
  return outward + error < gaps.away * (1 - 0x1p-50) && -outward + error < gaps.toward * (1 - 0x1p-50);
}

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_DOUBLE_DOUBLE_H_
