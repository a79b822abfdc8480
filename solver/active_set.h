// The optimum of (P) under changes: a primal active-set method over groups, warm from where it was.
//
// State.  A class for each group; weights (of one token) of S between 0 and C_n; the margin system with its
// factor; e = sum over E of c_j K_ij for all groups i (single-precision rows, sums in double); f = Ha of the
// last pass. Method: docs/math/incremental.md, "Path". The outcome is a proposal. StateProof proves it, or
// moves a group by Move and lets this go on.
#ifndef EXPUNGE_SOLVER_ACTIVE_SET_H_
#define EXPUNGE_SOLVER_ACTIVE_SET_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "solver/exact_memory.h"
#include "solver/exact_numbers.h"
#include "solver/group_table.h"
#include "solver/kernel_rows.h"
#include "solver/margin_system.h"

namespace expunge::solver {

// Threads: one at a time. `table` and `counters` outlive it. Once warm, allocates only for groups beyond all
// earlier numbers.
class ActiveSet {
 public:
  ActiveSet(const Config& config, const GroupTable& table, SolverCounters* counters);

  // Changes of the tokens. A new group starts in R. A group is taken out before its last token leaves the
  // table; a group whose number of tokens changes keeps its class.
  void GroupAdded(uint32_t group);
  void GroupLeaves(uint32_t group);
  void CountChanged(uint32_t group, uint32_t before);
  // The number of tokens in the memory, after all changes: C_n follows.
  void SetTokens(uint64_t tokens);

  // What the last step of Optimise came to.
  enum class Outcome {
    kVertex,   // S is empty, the mass of E is 1, and no pair violates the optimality beyond the error of f
    kSupport,  // the margin weights are inside the box, and no group outside S violates it beyond that error
    kLimit,    // more than `limit` changes of class
  };
  [[nodiscard]] Outcome Optimise(uint64_t limit);

  // Takes this partition instead of the present one; margin weights start at those of `weights`, or, where
  // that is empty, at their mean. Cost: O(n d |S+E| + |S|^3).
  void Adopt(const std::vector<TokenClass>& classes, const std::vector<double>& weights = {});
  // Moves a group to another class.
  void Move(uint32_t group, TokenClass to);
  // Lets groups outside S enter it together. Cost: O(n d + |S|^2) each.
  void Enter(absl::Span<const uint32_t> groups);
  // The same for the worst, at most so many. Sorts `violators`: the negative of the violation, and the group.
  using Violator = std::pair<double, uint32_t>;
  void EnterWorst(size_t most, std::vector<Violator>* violators);

  [[nodiscard]] TokenClass Class(uint32_t group) const { return classes_[group]; }
  [[nodiscard]] double Weight(uint32_t group) const { return weights_[group]; }
  void SetWeight(uint32_t group, double weight) { weights_[group] = weight; }
  [[nodiscard]] const std::vector<uint32_t>& error_groups() const { return error_; }
  [[nodiscard]] MarginSystem& system() { return system_; }
  [[nodiscard]] const MarginSystem& system() const { return system_; }
  [[nodiscard]] const Rational& box() const { return box_; }
  [[nodiscard]] DoubleDouble box_dd() const { return box_dd_; }
  [[nodiscard]] bool single_point() const { return single_point_; }

  // Of the last pass: (Ha)_j, proven within FError(f_j) for the masses that the system has now or, if those
  // were refined since, after FollowSystem.
  [[nodiscard]] double f(uint32_t group) const { return f_[group]; }
  [[nodiscard]] double FError(double f) const;
  // Counts in FError what the masses moved since the last pass. REQUIRES: S is that of the pass. Cost:
  // O(|S|).
  void FollowSystem();
  // A lower bound of f - h for a group in R that was added since the state was proven; not positive: its sign
  // is open, or S is empty. REQUIRES: nothing else has changed since. Cost: O(|S|).
  [[nodiscard]] double ReserveMargin(uint32_t group);
  // Lists the groups of R and E that may be on the wrong side of `level`, itself known within `level_error`:
  // f < level in R, f > level in E. Returns a lower bound of |f - level| for all others; infinity if there
  // are none. Cost: O(n).
  [[nodiscard]] double Near(double level, double level_error, std::vector<uint32_t>* near) const;
  // Groups of E with the largest f and of R with the smallest, -1 if there are none.
  struct Extremes {
    int64_t error_max = -1;
    int64_t reserve_min = -1;
  };
  [[nodiscard]] Extremes FindExtremes() const;

  // Correctly rounded kernel values of `group` with the members of S, valid until the next call; their sum
  // over E in double-double, with its own count if it is in E.
  [[nodiscard]] const double* MarginKernels(uint32_t group);
  [[nodiscard]] DoubleDouble ErrorSum(uint32_t group);
  // The same without its own count. `*error`: of the sum; 0 where that is exact, all values being 0 or 1.
  [[nodiscard]] DoubleDouble OtherErrorSum(uint32_t group, double* error);

  [[nodiscard]] uint64_t ByteSize() const;

 private:
  bool StepAtVertex();
  bool SolveTarget();
  bool StepToBound();
  bool EnterViolators();
  bool EnterCandidates();
  bool EnterFew();
  [[nodiscard]] bool Careful() const;
  void TrimRows();
  void Pass();
  void LeaveMargin(size_t k, TokenClass to);
  [[nodiscard]] double EvaluateF(uint32_t group) const;
  void ComputeKernels(uint32_t group, const std::vector<uint32_t>& others, std::vector<double>* out);
  void ShiftError(uint32_t group, const double* kernels, int64_t count);
  void JoinError(uint32_t group, const double* kernels);
  void LeaveError(uint32_t group, const double* kernels);
  void AddToErrorRows(uint32_t group, double count);
  void RebuildErrorRows();
  void RefreshErrorSums();
  void SetClass(uint32_t group, TokenClass to);
  [[nodiscard]] size_t MemberIndex(uint32_t group) const;

  const GroupTable& table_;
  SolverCounters& counters_;
  const size_t d_;
  const double gamma_;
  const double ridge_;
  const Rational c_;  // C, exact
  const DoubleDouble c_dd_;
  uint64_t whole_ = 0;       // floor(1/C): so many tokens fit into E
  bool whole_fits_ = false;  // 1/C is an integer
  Rational box_;             // C_n
  DoubleDouble box_dd_;
  bool single_point_ = false;

  KernelRows rows_;
  MarginSystem system_;
  std::vector<TokenClass> classes_;  // by group
  std::vector<double> weights_;
  std::vector<double> sign_;  // +1 in R, -1 in E, else 0
  std::vector<double> error_rows_;
  std::vector<double> f_;
  double error_rows_rounding_ = 0;
  double movement_ = 0;  // >= |mu - pass_masses_|_1
  std::vector<uint32_t> error_;
  uint64_t error_tokens_ = 0;
  size_t stalled_ = 0;                // steps of length zero in a row
  std::vector<uint32_t> candidates_;  // groups that came near to entering S in the last pass
  double candidate_distance_ = 0;     // how near

  // Workspace.
  std::vector<const double*> keys_;
  std::vector<double> kernels_;
  std::vector<double> error_kernels_;
  std::vector<float> values_;
  std::vector<const float*> row_pointers_;
  std::vector<double> pass_masses_;  // of the last pass
  std::vector<float> row_weights_;
  std::vector<double> reach_;
  std::vector<Violator> violators_;
  std::vector<uint32_t> entering_;
};

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_ACTIVE_SET_H_
