#include "solver/exact_numbers.h"

#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace expunge::solver {
namespace {

// Rounds `set(x, mode)`, which rounds once into an MPFR number, as IEEE 754 binary64 does: 53 bits, and fewer
// for subnormals. MPFR's exponents are per thread; they are put back.
template <typename Set>
double RoundAsDouble(mpfr_rnd_t mode, const Set& set) {
  const mpfr_exp_t emin = mpfr_get_emin();
  const mpfr_exp_t emax = mpfr_get_emax();
  mpfr_set_emin(-1073);  // the smallest subnormal is 0.5 * 2^-1073
  mpfr_set_emax(1024);
  mpfr_t x;
  mpfr_init2(x, 53);
  int ternary = set(x, mode);
  ternary = mpfr_check_range(x, ternary, mode);
  mpfr_subnormalize(x, ternary, mode);
  const double result = mpfr_get_d(x, MPFR_RNDN);  // exact
  mpfr_clear(x);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  return result;
}

double RoundRational(const Rational& x, mpfr_rnd_t mode) {
  return RoundAsDouble(mode, [&](mpfr_t out, mpfr_rnd_t m) {
    mpq_t q;
    mpq_init(q);
    fmpq_get_mpq(q, x);
    const int ternary = mpfr_set_q(out, q, m);
    mpq_clear(q);
    return ternary;
  });
}

// arf's exponents are unbounded: far below the smallest double, no rational of that size is made.
bool IsFarBelowDoubles(const Float& x) { return arf_cmpabs_2exp_si(x, -1100) < 0; }

RoundedDouble RoundFloat(const Float& x) {
  if (IsFarBelowDoubles(x)) return {arf_sgn(x) >= 0 ? 0.0 : -0.0, false};
  Rational exact;
  arf_get_fmpq(exact, x);
  return RoundToDouble(exact);
}

}  // namespace

void FreeCachesAtThreadExit() {
  struct Caches {
    ~Caches() {
      flint_cleanup();
      mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
    }
  };
  thread_local const Caches caches;
  static_cast<void>(caches);
}

RoundedDouble RoundToDouble(const Rational& x) {
  RoundedDouble rounded;
  rounded.value = RoundRational(x, MPFR_RNDN);
  const double below = RoundRational(x, MPFR_RNDD);
  const double above = RoundRational(x, MPFR_RNDU);
  if (below == above || !std::isfinite(below) || !std::isfinite(above)) return rounded;
  Rational twice;
  Rational sum;
  Rational term;
  fmpq_add(twice, x, x);
  SetExactly(below, &sum);
  SetExactly(above, &term);
  fmpq_add(sum, sum, term);
  rounded.tie = fmpq_equal(twice, sum) != 0;
  return rounded;
}

std::optional<RoundedDouble> RoundToDouble(const Ball& x) {
  if (!arb_is_finite(x)) return std::nullopt;
  Float lower;
  Float upper;
  arb_get_lbound_arf(lower, x, 4096);
  arb_get_ubound_arf(upper, x, 4096);
  const RoundedDouble a = RoundFloat(lower);
  if (arf_equal(lower, upper) != 0) return a;
  const RoundedDouble b = RoundFloat(upper);
  // An end that is a tie itself would leave open whether the number is.
  if (a.tie || b.tie || std::bit_cast<uint64_t>(a.value) != std::bit_cast<uint64_t>(b.value))
    return std::nullopt;
  return a;
}

double LowerBound(const Ball& x) {
  if (!arb_is_finite(x)) return -HUGE_VAL;
  Float lower;
  arb_get_lbound_arf(lower, x, 128);
  if (IsFarBelowDoubles(lower)) return arf_sgn(lower) >= 0 ? 0.0 : -std::bit_cast<double>(uint64_t{1});
  Rational exact;
  arf_get_fmpq(exact, lower);
  return LowerBound(exact);
}

double LowerBound(const Rational& x) { return RoundRational(x, MPFR_RNDD); }

void SetExactly(double x, Rational* out) {
  const Float value(x);
  arf_get_fmpq(*out, value);
}

}  // namespace expunge::solver
