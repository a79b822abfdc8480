// An independent oracle for small memories: problem (P) by enumeration, in GMP's rationals.
//
// Shares no line with the solver: its kernel is MPFR's exp at 3000 bits, its linear algebra is Gauss-Jordan
// elimination in mpq, its rounding compares with the two neighbouring doubles. Of all 3^n partitions it takes
// one whose exact solution meets the KKT conditions exactly; the problem is strictly convex, so that solution
// is the only one.
#ifndef EXPUNGE_TESTS_SUPPORT_DENSE_ORACLE_H_
#define EXPUNGE_TESTS_SUPPORT_DENSE_ORACLE_H_

#include <gmpxx.h>

#include <string>
#include <vector>

#include "solver/memory_state.h"

namespace expunge::testing {

// The exact optimum.
struct ExactOptimum {
  std::vector<mpq_class> weights;
  std::vector<char> classes;  // 'S', 'E', 'R'
  mpq_class rho;
  std::vector<mpq_class> gradient;        // g_i at the optimum
  std::vector<std::vector<mpq_class>> h;  // H
  mpq_class box;                          // C_n
};

// Cost: O(3^n n^3) in doubles, a few exact solves. REQUIRES: 1 <= n <= 9.
[[nodiscard]] ExactOptimum SolveByEnumeration(const solver::Config& config, const solver::TokenList& tokens);

// exp(-gamma |x - y|^2), nearest double, ties to even.
[[nodiscard]] double OracleKernel(const std::vector<double>& x, const std::vector<double>& y, double gamma);

// The nearest double, ties to even, subnormals included; +0 for what rounds to zero.
[[nodiscard]] double NearestDouble(const mpq_class& x);

}  // namespace expunge::testing

#endif  // EXPUNGE_TESTS_SUPPORT_DENSE_ORACLE_H_
