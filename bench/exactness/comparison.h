// States side by side: bits, classes, weights and readouts.
#ifndef EXPUNGE_BENCH_EXACTNESS_COMPARISON_H_
#define EXPUNGE_BENCH_EXACTNESS_COMPARISON_H_

#include <vector>

#include "absl/status/statusor.h"
#include "solver/memory_state.h"

namespace expunge::bench {

using Queries = std::vector<std::vector<double>>;

// The state of a memory that only ever held these tokens, by the reference solver. Cost: as SolveFromNothing.
[[nodiscard]] absl::StatusOr<solver::MemoryState> SolveReference(const solver::Config& config,
                                                                 solver::TokenList tokens);

struct Comparison {
  bool bits_equal = false;
  bool partition_equal = false;
  double deviation = 0;  // max of |a_i - b_i| and |o(q) - o_ref(q)|_2; infinity if the tokens differ
};
[[nodiscard]] Comparison Compare(const solver::MemoryState& state, const solver::MemoryState& reference,
                                 const Queries& queries);

// The largest |o(q) - p(q)|_2. REQUIRES: neither state is empty.
[[nodiscard]] double ReadoutDeviation(const solver::MemoryState& a, const solver::MemoryState& b,
                                      const Queries& queries);

// Coefficient decay, the baseline without a solve: the weights of `removed` times 0.01, all normalised again.
[[nodiscard]] solver::MemoryState Decay(solver::MemoryState state, const solver::TokenList& removed);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_EXACTNESS_COMPARISON_H_
