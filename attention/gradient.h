// Gradients of readouts with respect to queries, keys and values, through the solution of (P).
//
// Problem.  L = sum over the queries of <u_q, o(q)>, u_q being the gradient from above, and o(q) the readout
// of engine.h:  o(q) = sum_i p_i v_i,  p = softmax of log a_i - gamma |q - x_i|^2  over i in S and E. The
// weights depend on the keys: a_E = C_n, and a_S solves, with the kernel as a real function,
//     H_SS a_S - h 1 = -C_n K_SE 1,      1'a_S = 1 - C_n |E| (B)
// Where the partition is locally constant (every class strict), L is smooth, and this is its gradient. Tokens
// of R carry no weight and enter neither o nor (B): their derivatives are exactly 0, and they are not listed.
// At a tie (g_i = 0 outside S) the partition changes on one side, and this is the one-sided derivative
// towards the side on which it does not.
//
// Method.  With s_i = <u_q, v_i - o(q)>, dL/da_i = sum over q of p_i s_i / a_i. One solve with the maintained
// factor,  H_SS z - zeta 1 = dL/da_S,  1'z = 0,  then gives dL/dK_ij = -z_i a_j for i in S, all at once.
// Differences of squared distances are formed in double-double, and of values before they are summed, so that
// far queries, keys with a common offset and nearly one-hot softmaxes lose nothing. docs/math/gradient.md.
#ifndef EXPUNGE_ATTENTION_GRADIENT_H_
#define EXPUNGE_ATTENTION_GRADIENT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "solver/exact_memory.h"

namespace expunge::attention {

// Row-major. Rows of keys and values are the tokens of S and E in the order of ExactMemory::Support(); every
// other token's gradient is 0. Tokens with equal keys have a row each: the derivative for moving that one
// alone.
struct ReadoutGradient {
  std::vector<double> queries;  // Q x d
  std::vector<double> keys;     // |S+E| x d
  std::vector<double> values;   // |S+E| x dv
};

// dL/dqueries, dL/dkeys and dL/dvalues for Q queries (`queries`: Q x d, row-major; Q may be 0) and the
// gradient with respect to their readouts (`upstream`: Q x dv, row-major). `memory` is not changed.
//
// Cost: O(Q |S+E| (d + dv)), O(|S|^2) for the solve and O(|S| |S+E| d) for the kernel.
//
// Threads: any number of calls at once, as for ExactMemory's const functions. Returns:
//   InvalidArgument     `queries` is no multiple of d, or `upstream` not Q x dv; NaN or infinity; fields
//                       "queries", "upstream", or with a row, "queries[q]".
//   OutOfRange          a query with which a squared distance could overflow, field "queries[q]"; a
//                       derivative that exceeds the range of doubles, field "upstream".
//   FailedPrecondition  the memory is empty.
[[nodiscard]] absl::StatusOr<ReadoutGradient> DifferentiateReadouts(const solver::ExactMemory& memory,
                                                                    absl::Span<const double> queries,
                                                                    absl::Span<const double> upstream);

}  // namespace expunge::attention

#endif  // EXPUNGE_ATTENTION_GRADIENT_H_
