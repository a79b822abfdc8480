// One instance of problem (P), prepared for solving: contiguous keys, the exact box bound, and kernel values
// on demand.
//
// Tokens with equal keys have equal weights, since the solution is unique and their exchange changes nothing.
// So they are one *group*, and everything below, partitions included, is about groups; weights are those of
// one token, and Count() of them have it.
//
// Invariants.  (1) box() is the exact rational C_n = max(C, 1/n), n counting tokens. (2) Kernel(i, j) is
// correctly rounded, and computed at most once per pair. (3) |ApproxRow(i)[j] - Kernel(i, j)| <=
// approx_error().
#ifndef EXPUNGE_SOLVER_PROBLEM_H_
#define EXPUNGE_SOLVER_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "solver/double_double.h"
#include "solver/exact_numbers.h"
#include "solver/memory_state.h"

namespace expunge::solver {

// C = min(1, 2/(2s-1)), or min(1, value), exactly.
[[nodiscard]] Rational ExactBoxBound(const BoxBound& box);

// x with relative error at most kDoubleDoubleError: the rounded value, and the rounded rest.
[[nodiscard]] DoubleDouble ToDoubleDouble(const Rational& x);

// Which group is in which class, with the two short lists in ascending order of index.
struct Partition {
  std::vector<TokenClass> classes;
  std::vector<uint32_t> margin;  // S
  std::vector<uint32_t> error;   // E

  // Makes the lists agree with `classes`. Cost: O(n).
  void RefreshLists();
};

// Threads: one at a time (it fills its caches).
class Problem {
 public:
  // REQUIRES: as SolveFromNothing; n >= 1. Keeps no reference to the tokens. If `total` > 0, `tokens` are
  // part of so many, which counts for C_n; those that are missing have weight 0.
  Problem(const Config& config, const TokenList& tokens, uint64_t total = 0);

  // Groups, in the order of their first tokens.
  [[nodiscard]] size_t n() const { return n_; }
  [[nodiscard]] uint64_t tokens() const { return total_; }
  // The group of each token.
  [[nodiscard]] const std::vector<uint32_t>& groups() const { return groups_; }
  // Tokens in group i, and in all of a list of groups.
  [[nodiscard]] uint32_t Count(uint32_t i) const { return counts_[i]; }
  [[nodiscard]] uint64_t Count(const std::vector<uint32_t>& groups) const;
  [[nodiscard]] double ridge() const { return ridge_; }
  // C_n, exact, in double-double with relative error at most kDoubleDoubleError, and rounded.
  [[nodiscard]] const Rational& box() const { return box_; }
  [[nodiscard]] DoubleDouble box_dd() const { return box_dd_; }
  // tokens() C <= 1: the feasible set is the single point a_i = 1/n.
  [[nodiscard]] bool single_point() const { return single_point_; }

  // K_ij, the double nearest to the kernel. Cost: one kernel value, or a look-up.
  [[nodiscard]] double Kernel(uint32_t i, uint32_t j);
  // The sum of K_ij over the tokens of all `groups` i, exactly. Cost: a kernel value and an addition a group.
  [[nodiscard]] Float KernelSum(const std::vector<uint32_t>& groups, uint32_t j);

  // Row i of K in doubles, n entries; valid until the next call. Cost: 3 n d flops, or a look-up.
  [[nodiscard]] const double* ApproxRow(uint32_t i);
  [[nodiscard]] double approx_error() const { return approx_error_; }

 private:
  size_t n_ = 0;
  uint64_t total_;
  size_t d_;
  double gamma_;
  double ridge_;
  Rational box_;
  DoubleDouble box_dd_;
  bool single_point_ = false;
  double approx_error_;
  std::vector<uint32_t> groups_;
  std::vector<uint32_t> counts_;
  std::vector<double> keys_;     // n x d, row-major
  std::vector<double> columns_;  // d x n: the same, transposed
  absl::flat_hash_map<uint64_t, double> kernel_;
  absl::flat_hash_map<uint32_t, std::vector<double>> rows_;
};

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_PROBLEM_H_
