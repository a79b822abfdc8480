// The bordered system of the margin set S, kept solved while groups enter and leave.
//
// Problem.  For the groups i of S with counts c_i, weights a_i (of one token) and masses mu_i = c_i a_i:
//     sum_j K_ij mu_j + ridge a_i - h = -C_n e_i,   e_i = sum over E of c_j K_ij
//     sum_i mu_i = s,                               s = 1 - C_n |E| (B)
// with correctly rounded kernel values. M = K_SS + diag(ridge / c) is factored as L L' in doubles; the factor
// follows entries (a row is appended) and exits (Givens rotations), and serves as preconditioner only:
// residuals and solution are in double-double, and every error bound is proven from the residual alone.
// docs/math/incremental.md, "Residual" and "Proof".
#ifndef EXPUNGE_SOLVER_MARGIN_SYSTEM_H_
#define EXPUNGE_SOLVER_MARGIN_SYSTEM_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "solver/double_double.h"
#include "solver/exact_numbers.h"
#include "solver/support_solution.h"

namespace expunge::solver {

// Threads: one at a time. Allocates only when S grows beyond all earlier sizes.
class MarginSystem {
 public:
  explicit MarginSystem(double ridge) : ridge_(ridge) {}

  [[nodiscard]] size_t size() const { return groups_.size(); }
  [[nodiscard]] bool empty() const { return groups_.empty(); }
  [[nodiscard]] const std::vector<uint32_t>& groups() const { return groups_; }
  [[nodiscard]] double Count(size_t k) const { return counts_[k]; }
  // K of members 0..m-1 with member k.
  [[nodiscard]] const double* Kernel(size_t k) const { return kernel_.data() + k * stride_; }
  [[nodiscard]] uint64_t ByteSize() const;

  // `kernel[k]` = K of the new group and member k; e its sum over E; `weight` where its weight starts.
  // Cost: m^2 flops.
  void Append(uint32_t group, uint32_t count, const double* kernel, DoubleDouble e, double weight);
  // Cost: 3 m^2 flops.
  void Remove(size_t k);
  void Clear();

  // Follows `count` tokens with these kernel values into E (count < 0: out of it).
  void MoveErrorSums(const double* kernel, double count);
  // The additions behind the sums e_i make their bound grow: true when they should be summed afresh. Then
  // SetErrorSum for every member, with the number of its terms, and ErrorSumsAreFresh.
  [[nodiscard]] bool NeedsFreshErrorSums() const {
    return static_cast<double>(e_changes_) > 3 * error_tokens_ + 400;
  }
  void SetErrorSum(size_t k, DoubleDouble e, size_t terms);
  void ErrorSumsAreFresh() { e_changes_ = 0; }
  // C_n and the number of tokens in E.
  void SetBox(DoubleDouble box, uint64_t error_tokens);

  // One Newton step for (B) from the present weights. Returns the largest change of a mass, the magnitudes of
  // its two parts added up; infinity if a number was not finite. Cost: 11 m^2 flops for the residual and 4
  // m^2 for the step.
  double Improve();
  [[nodiscard]] double Weight(size_t k) const { return a_hi_[k]; }  // of one token; nearest double
  // C_n less the weight. A weight can differ from C_n by less than a double shows.
  [[nodiscard]] double Room(size_t k) const { return (box_ - DoubleDouble{a_hi_[k], a_lo_[k]}).hi; }
  [[nodiscard]] DoubleDouble h() const { return h_; }

  // Improves until the a priori bound of the error no longer halves. False if there is none.
  bool Prove();
  // Replace the bound by a tighter one: with a proven eigenvalue bound; with a verified inverse. Each at most
  // once after Prove. Cost: O(m^3).
  void TightenByEigenvalue();
  void TightenByInverse();

  // Of the proven solution. nullopt: the present bound leaves it open.
  [[nodiscard]] std::optional<WeightSide> Side(size_t k) const;
  [[nodiscard]] std::optional<RoundedDouble> RoundedWeight(size_t k) const;
  [[nodiscard]] std::optional<RoundedDouble> RoundedRho() const;
  // <= min(a_k, C_n - a_k) of the exact weight. REQUIRES: Side(k) is kInside.
  [[nodiscard]] double DistanceLower(size_t k) const;
  // >= |sum_i K_ij dmu_i| + |dh| for any j, d being the error of the solution.
  [[nodiscard]] double SlackError() const { return slack_error_; }
  // (Ha)_j - h of a group outside S, from its kernel values with S and its sum over E, of `error_terms`
  // values, its own count among them if it is in E. nullopt: the sign is open.
  [[nodiscard]] std::optional<Slack> SlackOf(const double* kernel, DoubleDouble e, size_t error_terms,
                                             bool in_error) const;

  // M z - zeta 1 = rhs, 1'z = mass, refined to double-double residuals. Allocates.
  void SolveBordered(absl::Span<const double> rhs, double mass, absl::Span<double> z, double* zeta) const;

 private:
  void Reserve(size_t size);
  void Refactor();
  void Wipe(size_t k);                 // row and column k of the matrices, entry k of the work vectors
  void UpdateOnes();                   // u = M^-1 1
  void Precondition(double* x) const;  // x := (L L')^-1 x
  [[nodiscard]] double AprioriEigenvalue() const;  // <= the smallest eigenvalue of M
  using ConstMatrixMap = Eigen::Map<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>;
  [[nodiscard]] Eigen::OuterStride<> Stride() const {
    return Eigen::OuterStride<>(static_cast<Eigen::Index>(stride_));
  }
  [[nodiscard]] Eigen::MatrixXd Matrix() const;  // M, its diagonal rounded
  [[nodiscard]] ConstMatrixMap Factor() const;
  void EvaluateResidual();
  double Step();         // Newton's, from the residual
  void BoundResidual();  // r_upper_, r_norm_upper_, sigma_upper_
  void BoundFromResidual(double lambda);
  [[nodiscard]] double RoomError(size_t k) const;
  [[nodiscard]] double* Column(std::vector<double>* matrix, size_t j) { return matrix->data() + j * stride_; }

  double ridge_;
  DoubleDouble box_;
  double error_tokens_ = 0;
  size_t stride_ = 0;
  std::vector<uint32_t> groups_;
  std::vector<double> counts_;
  std::vector<double> kernel_;  // m x m, full
  std::vector<double> factor_;  // lower triangle
  std::vector<double> e_hi_, e_lo_;
  std::vector<double> e_error_;  // of e_i: a sum of partial sums, times kDoubleDoubleError
  uint64_t e_changes_ = 0;       // additions since the sums were fresh
  std::vector<double> a_hi_, a_lo_;
  DoubleDouble h_;
  std::vector<double> ones_;  // M^-1 1
  double ones_sum_ = 0;
  bool ones_fresh_ = false;

  // The residual of the present solution: r_hi_ + r_lo_, sigma_.
  std::vector<double> mu_hi_, mu_lo_, r_hi_, r_lo_, r_upper_, work_;
  double sigma_ = 0;
  double sigma_upper_ = 0;
  double r_norm_upper_ = 0;

  double lambda_ = 0;  // <= the smallest eigenvalue of M, proven for this S or a larger one; 0: not proven
  std::vector<double> weight_error_;  // >= |a_k - a*_k|
  double h_error_ = 0;
  double slack_error_ = 0;
};

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_MARGIN_SYSTEM_H_
