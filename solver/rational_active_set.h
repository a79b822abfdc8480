// The last resort: the optimal partition by a primal active-set method in exact rational arithmetic.
//
// Why it ends.  Every iterate is feasible. At the minimiser of a face with S strictly inside the box, the
// active constraints are independent, so a token with a negative multiplier may enter and the objective falls
// strictly; where S is empty, the pair with the largest (Ha) in E and the smallest in R enters, and it falls
// strictly, too. So no face comes twice, and there are finitely many. docs/math/canonical.md, "Termination".
#ifndef EXPUNGE_SOLVER_RATIONAL_ACTIVE_SET_H_
#define EXPUNGE_SOLVER_RATIONAL_ACTIVE_SET_H_

#include "solver/problem.h"

namespace expunge::solver {

// The partition of a*, from any starting partition. REQUIRES: !problem->single_point().
// Cost: exact solves; seconds where |S| is beyond about 100.
[[nodiscard]] Partition OptimalPartition(Problem* problem, Partition start);

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_RATIONAL_ACTIVE_SET_H_
