#include "bench/exactness/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attention/cpu/cpu_engine.h"
#include "attention/support_set.h"
#include "base/status_macros.h"
#include "solver/reference_solver.h"

namespace expunge::bench {

absl::StatusOr<solver::MemoryState> SolveReference(const solver::Config& config, solver::TokenList tokens) {
  std::sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) { return a->id < b->id; });
  EXPUNGE_ASSIGN_OR_RETURN(solver::Solution solution, solver::SolveFromNothing(config, tokens));
  return solver::MemoryState{config, std::move(tokens), std::move(solution)};
}

double ReadoutDeviation(const solver::MemoryState& a, const solver::MemoryState& b, const Queries& queries) {
  const attention::SupportSet support_a(a);
  const attention::SupportSet support_b(b);
  double worst = 0;
  for (const std::vector<double>& query : queries) {
    const std::vector<double> o_a = attention::ReadCertified(support_a, query, false).output;
    const std::vector<double> o_b = attention::ReadCertified(support_b, query, false).output;
    double squares = 0;
    for (size_t k = 0; k < o_a.size(); ++k) squares += (o_a[k] - o_b[k]) * (o_a[k] - o_b[k]);
    worst = std::max(worst, std::sqrt(squares));
  }
  return worst;
}

Comparison Compare(const solver::MemoryState& state, const solver::MemoryState& reference,
                   const Queries& queries) {
  Comparison comparison;
  comparison.bits_equal = solver::Fingerprint(state) == solver::Fingerprint(reference);
  const bool same_tokens =
      std::equal(state.tokens.begin(), state.tokens.end(), reference.tokens.begin(), reference.tokens.end(),
                 [](const auto& a, const auto& b) { return a->id == b->id; });
  comparison.partition_equal = same_tokens && state.solution.classes == reference.solution.classes;
  if (comparison.bits_equal) return comparison;
  if (!same_tokens || state.solution.weights.size() != reference.solution.weights.size()) {
    comparison.deviation = std::numeric_limits<double>::infinity();
    return comparison;
  }
  for (size_t i = 0; i < state.tokens.size(); ++i) {
    const double difference = std::fabs(state.solution.weights[i] - reference.solution.weights[i]);
    comparison.deviation = std::max(comparison.deviation, difference);
  }
  if (!state.tokens.empty()) {
    comparison.deviation = std::max(comparison.deviation, ReadoutDeviation(state, reference, queries));
  }
  return comparison;
}

solver::MemoryState Decay(solver::MemoryState state, const solver::TokenList& removed) {
  double total = 0;
  for (size_t i = 0; i < state.tokens.size(); ++i) {
    const bool decays = std::any_of(removed.begin(), removed.end(),
                                    [&](const auto& token) { return token->id == state.tokens[i]->id; });
    if (decays) state.solution.weights[i] *= 0.01;
    total += state.solution.weights[i];
  }
  for (double& weight : state.solution.weights) weight /= total;
  return state;
}

}  // namespace expunge::bench
