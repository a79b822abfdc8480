// Attention readout from a canonical state.
//
//     o(q) = sum_i a_i k(q, x_i) v_i / sum_i a_i k(q, x_i)         over i in S and E (R)
// computed as a softmax of the logits log a_i - gamma |q - x_i|^2 with the maximum subtracted: it never
// becomes 0/0, and a far query still gets a proper weighted mean. f(q) = 2 sum_i a_i k(q, x_i) - (1 - rho).
//
// Determinism.  One fixed order of operations, correctly rounded logarithms, our own exponential, no
// contraction: the same query gives the same bits alone, in any batch, from any thread, compiler or vector
// unit. Bound.  |o(q) - o*(q)|_2 against the readout o* of the exact weights a*: docs/math/readout.md.
#ifndef EXPUNGE_ATTENTION_READOUT_H_
#define EXPUNGE_ATTENTION_READOUT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "solver/memory_state.h"

namespace expunge::attention {

// One token's share of a readout.
struct Contribution {
  uint32_t token = 0;  // index into MemoryState::tokens, or WeightedToken::index
  double weight = 0;   // of the softmax
};

struct ReadoutResult {
  std::vector<double> output;  // value_dimension
  double decision_value = 0;
  double error_bound = 0;                   // of the output, Euclidean norm; infinity if none can be proven
  std::vector<Contribution> contributions;  // descending weight, then ascending token; empty unless asked for
};

// A token that carries weight.
struct WeightedToken {
  const solver::Token* token = nullptr;
  uint32_t index = 0;  // what contributions call it; ascending
  double weight = 0;
};

// The tokens of S and E, packed for reading. Immutable; any number of threads may read at once.
class SupportSet {
 public:
  // Cost: O(|S+E| (d + dv)). Keeps no reference to `state`.
  explicit SupportSet(const solver::MemoryState& state);
  // The same of its tokens of S and E alone, in their order, with its rho and its proof's eta.
  SupportSet(const solver::Config& config, absl::Span<const WeightedToken> support, double rho, double eta);

  [[nodiscard]] bool empty() const { return tokens_.empty(); }
  [[nodiscard]] size_t size() const { return tokens_.size(); }

  // REQUIRES: !empty(), query normalised (solver::NormalizeKey). Cost: O(|S+E| (d + dv)).
  [[nodiscard]] ReadoutResult Read(absl::Span<const double> query, bool with_contributions) const;

 private:
  [[nodiscard]] double ErrorBound(double logit_scale) const;

  uint32_t key_dimension_;
  uint32_t value_dimension_;
  double gamma_;
  double rho_;
  double eta_;
  double value_spread_upper_;  // >= |v_i - v_j|_2 for all i, j
  double value_norm_upper_;    // >= |v_i|_2 for all i
  std::vector<uint32_t> tokens_;
  std::vector<double> keys_;    // |S+E| x d, row-major
  std::vector<double> values_;  // |S+E| x dv, row-major
  std::vector<double> weights_;
  std::vector<double> log_weights_;
};

}  // namespace expunge::attention

#endif  // EXPUNGE_ATTENTION_READOUT_H_
