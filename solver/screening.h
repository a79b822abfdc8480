// Screening: what a candidate solution proves about the classes of a*, with no active set.
//
// Problem.  (P) of memory_state.h, and any weights a, from anyone. With g = 2Ha - diag(K), the gap
//     G = g'a - min { g'b : b feasible } + (1 + 2 ridge) (distance of a from the feasible set in the 1-norm)
// bounds 2 (a - a*)'H(a - a*), so that no g_i is further than D = 2 ((1 + ridge) G / 2)^1/2 from its value at
// a*. Tokens in the order of g then prove classes: with p the ceil(1/C)-th smallest g and q the (floor(1/C) +
// 1)-th,
//     g_i > p + 2D  proves  a*_i = 0;          g_i < q - 2D  proves  a*_i = C.
// While n C <= 1 all weights are 1/n, which needs no proof. docs/math/selection.md, "Screening".
#ifndef EXPUNGE_SOLVER_SCREENING_H_
#define EXPUNGE_SOLVER_SCREENING_H_

#include <vector>

#include "solver/memory_state.h"

namespace expunge::solver {

enum class Screened { kOpen, kReserve, kError };

struct Screening {
  std::vector<Screened> tokens;  // index by index
  double gap_upper = 0;          // >= G; infinity where weights are missing, not finite or beyond 2^100
  double gradient_error = 0;     // >= |g_i - g*_i| for every token, without rho: D
};

// Uses the tokens and the weights of `state`; neither its classes nor rho. An optimal a, rounded to doubles,
// has a gap of about (d + N) 2^-51 with N keys that carry weight, most of it rounding, and leaves tokens open
// that are within a few 1e-7 of the boundary. REQUIRES: ValidateConfig(state.config), keys normalised, ridge
// > n 2^-54. Cost: O(n N d) in doubles. Threads: any number of calls at once.
[[nodiscard]] Screening ScreenTokens(const MemoryState& state);

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_SCREENING_H_
