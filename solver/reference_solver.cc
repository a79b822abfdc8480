#include "solver/reference_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/status_macros.h"
#include "solver/ladder.h"
#include "solver/proposal.h"
#include "solver/rational_active_set.h"
#include "solver/vertex.h"

namespace expunge::solver {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Proves a partition, or says how to repair it.
class Prover {
 public:
  Prover(Problem* problem, Arithmetic lowest) : problem_(*problem), lowest_(lowest) {}

  // True: `partition` is that of a*, and `*solution` is the canonical solution. False: `partition` was
  // changed by one pivot.
  bool ProveOrPivot(Partition* partition, Solution* solution) {
    return partition->margin.empty() ? ProveVertex(partition, solution) : ProveSupport(partition, solution);
  }

 private:
  bool ProveVertex(Partition* partition, Solution* solution) {
    const Vertex vertex = ExamineVertex(&problem_, *partition);
    if (vertex.outcome != Vertex::Outcome::kOptimal) {
      if (vertex.outcome != Vertex::Outcome::kMassTooLow)
        partition->classes[vertex.error_max] = TokenClass::kMargin;
      if (vertex.outcome != Vertex::Outcome::kMassTooHigh)
        partition->classes[vertex.reserve_min] = TokenClass::kMargin;
      partition->RefreshLists();
      return false;
    }
    Proof proof;
    proof.margin_lower = vertex.margin_lower;
    proof.ties = vertex.ties + (vertex.rho.tie ? 1 : 0);
    proof.strict = vertex.ties == 0;
    proof.weight_distance_lower = kInfinity;
    Conclude(*partition, {}, vertex.rho.value, proof, solution);
    return true;
  }

  bool ProveSupport(Partition* partition, Solution* solution) {
    Ladder ladder(&problem_, partition, lowest_);
    if (MoveBlocked(&ladder, partition)) return false;
    Proof proof;
    proof.margin_lower = kInfinity;
    if (MoveWorstViolator(&ladder, partition, &proof)) return false;

    std::vector<double> weights;
    proof.weight_distance_lower = kInfinity;
    for (size_t k = 0; k < partition->margin.size(); ++k) {
      const RoundedDouble weight = ladder.Weight(k);
      weights.push_back(weight.value);
      proof.ties += weight.tie ? problem_.Count(partition->margin[k]) : 0;
      proof.weight_distance_lower = std::min(proof.weight_distance_lower, ladder.DistanceLower(k));
    }
    const RoundedDouble rho = ladder.Rho();
    proof.ties += rho.tie ? 1 : 0;
    proof.higher_precision = ladder.higher_precision();
    Conclude(*partition, weights, rho.value, proof, solution);
    return true;
  }

  // Puts margin tokens whose weight is not inside (0, C_n) at the bound that they meet.
  static bool MoveBlocked(Ladder* ladder, Partition* partition) {
    std::vector<std::pair<uint32_t, TokenClass>> moves;
    for (size_t k = 0; k < partition->margin.size(); ++k) {
      const WeightSide side = ladder->Side(k);
      if (side == WeightSide::kBelowOrAtZero) moves.emplace_back(partition->margin[k], TokenClass::kReserve);
      if (side == WeightSide::kAtOrAboveBox) moves.emplace_back(partition->margin[k], TokenClass::kError);
    }
    for (const auto& [token, to] : moves) partition->classes[token] = to;
    partition->RefreshLists();
    return !moves.empty();
  }

  // Checks the sign of g for every token outside S; lets the worst violator enter S.
  bool MoveWorstViolator(Ladder* ladder, Partition* partition, Proof* proof) const {
    double worst = -1;
    uint32_t entering = 0;
    for (uint32_t j = 0; j < problem_.n(); ++j) {
      const TokenClass token_class = partition->classes[j];
      if (token_class == TokenClass::kMargin) continue;
      const Slack slack = ladder->SlackOf(j);
      const int wanted = token_class == TokenClass::kReserve ? 1 : -1;
      if (slack.sign == -wanted && slack.magnitude_lower > worst) {
        worst = slack.magnitude_lower;
        entering = j;
      }
      proof->margin_lower = std::min(proof->margin_lower, 2 * slack.magnitude_lower);
      proof->ties += slack.sign == 0 ? problem_.Count(j) : 0;
      proof->strict = proof->strict && slack.sign != 0;
    }
    if (worst < 0) return false;
    partition->classes[entering] = TokenClass::kMargin;
    partition->RefreshLists();
    return true;
  }

  void Conclude(const Partition& partition, const std::vector<double>& margin_weights, double rho,
                Proof proof, Solution* solution) const {
    const RoundedDouble box = RoundToDouble(problem_.box());
    std::vector<double> weights(problem_.n(), 0.0);
    for (const uint32_t e : partition.error) weights[e] = box.value;
    for (size_t k = 0; k < partition.margin.size(); ++k) weights[partition.margin[k]] = margin_weights[k];
    for (const uint32_t group : problem_.groups()) {
      solution->classes.push_back(partition.classes[group]);
      solution->weights.push_back(weights[group]);
    }
    solution->rho = rho + 0.0;  // -0 becomes +0

    double smallest = kInfinity;
    for (size_t i = 0; i < problem_.n(); ++i) {
      if (partition.classes[i] != TokenClass::kReserve) smallest = std::min(smallest, weights[i]);
    }
    SetStateBounds(problem_.ridge(), problem_.tokens(), smallest, &proof);
    solution->proof = proof;
  }

  Problem& problem_;
  Arithmetic lowest_;
};

Partition FirstPartition(Problem* problem, const SolveOptions& options) {
  Partition partition;
  if (problem->single_point()) {
    partition.classes.assign(problem->n(), TokenClass::kError);
  } else if (!options.proposal.empty()) {
    partition.classes.resize(problem->n());
    for (size_t i = 0; i < options.proposal.size(); ++i)
      partition.classes[problem->groups()[i]] = options.proposal[i];
  } else {
    return ProposePartition(problem);
  }
  partition.RefreshLists();
  return partition;
}

}  // namespace

absl::StatusOr<Solution> SolveFromNothing(const Config& config, const TokenList& tokens,
                                          const SolveOptions& options) {
  EXPUNGE_RETURN_IF_ERROR(ValidateRidge(config, tokens.size()));
  Solution solution;
  if (tokens.empty()) {
    solution.proof = EmptyProof(config.ridge);
    return solution;
  }
  FreeCachesAtThreadExit();
  SolveReport report;
  Problem problem(config, tokens);
  Partition partition = FirstPartition(&problem, options);
  Prover prover(&problem, options.lowest);
  bool proven = prover.ProveOrPivot(&partition, &solution);
  while (!proven && report.pivots < static_cast<uint64_t>(options.max_pivots)) {
    ++report.pivots;
    proven = prover.ProveOrPivot(&partition, &solution);
  }
  if (!proven) {
    report.rational_pivots = true;
    partition = OptimalPartition(&problem, std::move(partition));
    proven = prover.ProveOrPivot(&partition, &solution);
  }
  if (options.report != nullptr) *options.report = report;
  if (!proven) return MakeError(Reason::kInternal, "", "the optimal partition failed its proof");
  return solution;
}

}  // namespace expunge::solver
