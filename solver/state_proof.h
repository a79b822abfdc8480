// Proves that what the active-set method proposes is the canonical state, or says how to go on.
//
// Each question (which side of its bounds has a weight? which sign has a gradient? to which double does a
// number round?) goes to the first that can answer it: the a priori bound, the eigenvalue bound, the
// componentwise bound of margin_system.h, then balls and rationals (ladder.h) on the tokens that carry weight
// and those in question. docs/math/incremental.md, "Proof".
#ifndef EXPUNGE_SOLVER_STATE_PROOF_H_
#define EXPUNGE_SOLVER_STATE_PROOF_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "solver/active_set.h"
#include "solver/exact_memory.h"
#include "solver/group_table.h"
#include "solver/ladder.h"
#include "solver/vertex.h"

namespace expunge::solver {

// Threads: one at a time. Allocates only beyond double-double.
class StateProof {
 public:
  // All outlive the proof.
  StateProof(const Config& config, const GroupTable& table, ActiveSet* active, SolverCounters* counters)
      : config_(config), table_(table), active_(*active), counters_(*counters) {}

  // REQUIRES: Optimise returned kVertex (`vertex`) or kSupport, and nothing changed since. True: the
  // partition is that of a*; weights are rounded, `*rho` and `*proof` set. False: groups were moved, or
  // entered S.
  [[nodiscard]] bool ProveOrMove(bool vertex, double* rho, Proof* proof);

  // In a proven vertex with R not empty: the group of R with the least gradient, on which rho depends; of
  // several, the one with the least id. Else kNoGroup.
  static constexpr uint32_t kNoGroup = 0xffffffff;
  [[nodiscard]] uint32_t anchor() const { return anchor_; }
  // <= |(Ha)_j - h| of a group whose sign the pass left open; 0: the pass decided it, or it is a tie.
  [[nodiscard]] double NearSlack(uint32_t group) const;

 private:
  struct SubProblem;

  bool ProveVertex(double* rho, Proof* proof);
  // One group of several that are equal, or one alone.
  struct Contender {
    uint32_t group = 0;  // of equal ones, that with the least id
    uint32_t own = 0;    // its tokens in E
    uint64_t tokens = 0;
    DoubleDouble others;  // the sum over the rest of E
    double error = 0;
  };
  void FindContenders(const std::vector<uint32_t>& groups, int sign);
  [[nodiscard]] std::optional<VertexExtreme> FindExact(const std::vector<uint32_t>& groups, int sign);
  bool ProveSupport(double* rho, Proof* proof);
  bool MoveBlocked();
  bool EnterViolators(Proof* proof);
  void RoundWeights(double* rho, Proof* proof);
  // The first answer of the system, at tighter bounds if need be, or of the ladder.
  template <typename AskSystem, typename AskLadder>
  auto Answer(const AskSystem& ask_system, const AskLadder& ask_ladder);
  [[nodiscard]] SubProblem& Sub();
  [[nodiscard]] Slack SlackOf(uint32_t group);

  const Config& config_;
  const GroupTable& table_;
  ActiveSet& active_;
  SolverCounters& counters_;
  uint32_t anchor_ = kNoGroup;
  int tightened_ = 0;  // of the present proof: 1 by eigenvalue, 2 by inverse, too
  std::shared_ptr<SubProblem> sub_;
  std::vector<uint32_t> near_;  // ascending
  std::vector<double> near_slacks_;
  std::vector<Contender> contenders_;
  std::vector<std::pair<uint32_t, TokenClass>> moves_;
  std::vector<ActiveSet::Violator> violators_;
};

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_STATE_PROOF_H_
