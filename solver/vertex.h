// The case without margin tokens: every weight is 0 or C_n.
#ifndef EXPUNGE_SOLVER_VERTEX_H_
#define EXPUNGE_SOLVER_VERTEX_H_

#include <optional>

#include "solver/problem.h"

namespace expunge::solver {

// What holds at the vertex a = C_n on E, 0 on R.
struct Vertex {
  enum class Outcome {
    kOptimal,      // |E| C_n = 1 and max over E of (Ha) <= min over R of (Ha)
    kMassTooLow,   // |E| C_n < 1: `reserve_min` should enter
    kMassTooHigh,  // |E| C_n > 1: `error_max` should leave the bound
    kNotOptimal,   // moving weight from `error_max` to `reserve_min` descends
  };
  Outcome outcome = Outcome::kOptimal;
  uint32_t error_max = 0;    // argmax over E of (Ha), the first in order
  uint32_t reserve_min = 0;  // argmin over R of (Ha), the first in order
  // Only for kOptimal:
  RoundedDouble rho;
  double margin_lower = 0;  // <= min |g_j|; infinity where R is empty
  uint64_t ties = 0;        // tokens with g_j = 0 where R is not empty
};

// The largest or smallest sum over E of H_je among the tokens of one class, exactly; `count` tokens share it.
struct VertexExtreme {
  uint32_t token = 0;
  Float value;
  uint64_t count = 0;
};

// An optimal vertex from its extremes over E and, unless that is empty, over R. `box` = C_n.
// REQUIRES: low is absent, or high.value <= low->value.
[[nodiscard]] Vertex ConcludeVertex(const Rational& box, const VertexExtreme& high,
                                    const std::optional<VertexExtreme>& low);

// Decides exactly: in doubles with a bound first, then in exact sums for the rows that are near.
// REQUIRES: partition.margin empty. Cost: O(n |E| d).
[[nodiscard]] Vertex ExamineVertex(Problem* problem, const Partition& partition);

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_VERTEX_H_
