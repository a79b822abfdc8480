// The solution that a partition implies, in one of three arithmetics, and what can be proven of it.
//
// Problem.  Given (S, E, R) with S not empty: the unique a_S and h with
//     (H a)_i = h on S,   1'a = 1,   a = C_n on E,   a = 0 on R (B)
// that is H_SS a_S - h 1 = -C_n H_SE 1,  1'a_S = 1 - C_n |E|;  rho = 1 - 2h, g_j = 2((Ha)_j - h).
// Every answer is either proven or "undecided"; the rational solution decides everything.
//
// Double-double: refinement on a Cholesky factor in doubles; an a-priori bound from the smallest eigenvalue
// of H.
//
// Balls: Arb's verified solver at a given precision, or, for many unknowns, refinement with the same bound.
//
// Rationals: FLINT's exact solvers.
//
// docs/math/canonical.md derives the bounds.
#ifndef EXPUNGE_SOLVER_SUPPORT_SOLUTION_H_
#define EXPUNGE_SOLVER_SUPPORT_SOLUTION_H_

#include <memory>
#include <optional>

#include "solver/problem.h"

namespace expunge::solver {

// Where a weight lies.
enum class WeightSide { kBelowOrAtZero, kInside, kAtOrAboveBox };

// The sign of (Ha)_j - h, and a lower bound of its magnitude.
struct Slack {
  int sign = 0;
  double magnitude_lower = 0;
};

// All questions are about indices into Partition::margin (`k`) or tokens outside S (`j`).
class SupportSolution {
 public:
  virtual ~SupportSolution() = default;
  [[nodiscard]] virtual std::optional<WeightSide> Side(size_t k) = 0;
  [[nodiscard]] virtual std::optional<RoundedDouble> Weight(size_t k) = 0;
  [[nodiscard]] virtual std::optional<RoundedDouble> Rho() = 0;
  [[nodiscard]] virtual std::optional<Slack> SlackOf(uint32_t j) = 0;
  // A lower bound of min(a_k, C_n - a_k). REQUIRES: Side(k) is kInside.
  [[nodiscard]] virtual double DistanceLower(size_t k) = 0;
};

// Each may be nullptr where its arithmetic cannot solve the system at all. `problem` and `partition` outlive
// the solution. REQUIRES: partition.margin not empty. Cost: m = |S|: O(m^2 (m + |E|)) flops and O(n (|S| +
// |E|)) for the slacks.
[[nodiscard]] std::unique_ptr<SupportSolution> SolveInDoubleDouble(Problem* problem,
                                                                   const Partition& partition);
[[nodiscard]] std::unique_ptr<SupportSolution> SolveInBalls(Problem* problem, const Partition& partition,
                                                            int precision_bits);
// Also gives the exact numbers.
class RationalSolution : public SupportSolution {
 public:
  [[nodiscard]] virtual Rational ExactWeight(size_t k) = 0;
  // (Ha)_j - h.
  [[nodiscard]] virtual Rational ExactSlack(uint32_t j) = 0;
};
[[nodiscard]] std::unique_ptr<RationalSolution> SolveInRationals(Problem* problem,
                                                                 const Partition& partition);

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_SUPPORT_SOLUTION_H_
