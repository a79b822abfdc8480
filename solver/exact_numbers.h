// Owners for the numbers of FLINT and Arb, and their roundings to doubles.
#ifndef EXPUNGE_SOLVER_EXACT_NUMBERS_H_
#define EXPUNGE_SOLVER_EXACT_NUMBERS_H_

#include <arb.h>
#include <arb_mat.h>
#include <flint/fmpq.h>
#include <flint/fmpz.h>
#include <flint/fmpz_mat.h>

#include <cstdint>
#include <optional>

namespace expunge::solver {

// GMP's friends keep caches for each thread; after this call, the calling thread frees them when it ends.
void FreeCachesAtThreadExit();

// Each owner converts to the C type of its library, and can be passed wherever that is expected.
class Integer {
 public:
  Integer() { fmpz_init(value_); }
  explicit Integer(uint64_t value) { fmpz_init_set_ui(value_, value); }
  Integer(const Integer& other) { fmpz_init_set(value_, other.value_); }
  Integer& operator=(const Integer& other) {
    fmpz_set(value_, other.value_);
    return *this;
  }
  ~Integer() { fmpz_clear(value_); }
  operator fmpz*() { return value_; }
  operator const fmpz*() const { return value_; }

 private:
  fmpz_t value_;
};

class Rational {
 public:
  Rational() { fmpq_init(value_); }
  Rational(const Rational& other) : Rational() { fmpq_set(value_, other.value_); }
  Rational& operator=(const Rational& other) {
    fmpq_set(value_, other.value_);
    return *this;
  }
  ~Rational() { fmpq_clear(value_); }
  operator fmpq*() { return value_; }
  operator const fmpq*() const { return value_; }
  fmpz* numerator() { return fmpq_numref(value_); }
  fmpz* denominator() { return fmpq_denref(value_); }
  const fmpz* numerator() const { return fmpq_numref(value_); }
  const fmpz* denominator() const { return fmpq_denref(value_); }

 private:
  fmpq_t value_;
};

class Float {  // arbitrary precision, exact where ARF_PREC_EXACT is asked for
 public:
  Float() { arf_init(value_); }
  explicit Float(double value) : Float() { arf_set_d(value_, value); }
  Float(const Float& other) : Float() { arf_set(value_, other.value_); }
  Float& operator=(const Float& other) {
    arf_set(value_, other.value_);
    return *this;
  }
  ~Float() { arf_clear(value_); }
  operator arf_struct*() { return value_; }
  operator const arf_struct*() const { return value_; }

 private:
  arf_t value_;
};

class Ball {  // midpoint and radius; encloses
 public:
  Ball() { arb_init(value_); }
  Ball(const Ball& other) : Ball() { arb_set(value_, other.value_); }
  Ball& operator=(const Ball& other) {
    arb_set(value_, other.value_);
    return *this;
  }
  ~Ball() { arb_clear(value_); }
  operator arb_struct*() { return value_; }
  operator const arb_struct*() const { return value_; }

 private:
  arb_t value_;
};

// A rounded number, and whether it lay exactly midway between two doubles.
struct RoundedDouble {
  double value = 0;
  bool tie = false;
};

// The nearest double, ties to even, subnormals included.
[[nodiscard]] RoundedDouble RoundToDouble(const Rational& x);

// The nearest double of every real in the ball, or nullopt if they differ or only some of them are ties.
[[nodiscard]] std::optional<RoundedDouble> RoundToDouble(const Ball& x);

// A double <= x, for every real in the ball or for the rational.
[[nodiscard]] double LowerBound(const Ball& x);
[[nodiscard]] double LowerBound(const Rational& x);

// x = mantissa * 2^exponent exactly, as a rational.
void SetExactly(double x, Rational* out);

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_EXACT_NUMBERS_H_
