// A number of 600 bits, by MPFR.
#ifndef EXPUNGE_TESTS_SUPPORT_REAL_H_
#define EXPUNGE_TESTS_SUPPORT_REAL_H_

#include <mpfr.h>

namespace expunge::testing {

class Real {
 public:
  Real() {  // 0
    mpfr_init2(x_, 600);
    mpfr_set_zero(x_, 1);
  }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(x_); }
  mpfr_ptr get() { return x_; }

 private:
  mpfr_t x_;
};

}  // namespace expunge::testing

#endif  // EXPUNGE_TESTS_SUPPORT_REAL_H_
