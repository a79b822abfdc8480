// A partition from floating-point arithmetic: nearly always the right one, and never trusted.
//
// Method.  Sequential minimal optimisation with second-order selection (Fan, Chen and Lin, JMLR 6, 2005) from
// the vertex that fills the box in order, then block principal pivoting (Kim and Park, SIAM J. Sci. Comput.
// 33, 2011) while it makes progress, then a primal active-set method, with a Cholesky factor of H_SS. Steps
// are clamped to [0, 1] and weights to [0, C_n]; limits on both loops end it whatever rounding does.
#ifndef EXPUNGE_SOLVER_PROPOSAL_H_
#define EXPUNGE_SOLVER_PROPOSAL_H_

#include <vector>

#include "solver/problem.h"

namespace expunge::solver {

// What the first of these methods comes to: classes of groups and weights of one token each, feasible, with
// KKT conditions violated by about 1e-6 at most. REQUIRES: !problem->single_point(). Cost: as below, without
// the factorisations.
struct RoughOptimum {
  std::vector<TokenClass> classes;
  std::vector<double> weights;
};
[[nodiscard]] RoughOptimum FindRoughOptimum(Problem* problem);

// REQUIRES: !problem->single_point(). Cost: O(n d) for every token that ever carries weight, and O(n) a step.
[[nodiscard]] Partition ProposePartition(Problem* problem);

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_PROPOSAL_H_
