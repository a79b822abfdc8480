#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "solver/support_solution.h"

namespace expunge::solver {
namespace {

// From this |S| on, refinement on a factor in doubles: O(m^2) in balls instead of O(m^3).
constexpr slong kRefineFrom = 64;

// Unknowns, one a group, scaled by the denominator q of C_n = p/q, so that all data are exact: y = q a_S and
// z = -q h solve
//     H_SS y + z 1 = -p K_SE 1,    1'y = q - p |E|,
// the columns of each group added up.
class BallSolution final : public SupportSolution {
 public:
  BallSolution(Problem* problem, const Partition& partition, int precision)
      : problem_(*problem), margin_(partition.margin), error_(partition.error), precision_(precision) {
    const auto size = static_cast<slong>(margin_.size()) + 1;
    arb_mat_init(solution_, size, 1);
  }
  ~BallSolution() override { arb_mat_clear(solution_); }
  BallSolution(const BallSolution&) = delete;
  BallSolution& operator=(const BallSolution&) = delete;

  bool Solve() {
    const auto m = static_cast<slong>(margin_.size());
    if (m >= kRefineFrom && Refine()) return true;
    arb_mat_t matrix;
    arb_mat_t rhs;
    arb_mat_init(matrix, m + 1, m + 1);
    arb_mat_init(rhs, m + 1, 1);
    Ball ridge;
    arb_set_d(ridge, problem_.ridge());
    for (slong i = 0; i < m; ++i) {
      for (slong j = 0; j < m; ++j) {
        SetTimesCount(problem_.Kernel(margin_[i], margin_[j]), margin_[j], arb_mat_entry(matrix, i, j));
      }
      arb_add(arb_mat_entry(matrix, i, i), arb_mat_entry(matrix, i, i), ridge, ARF_PREC_EXACT);
      arb_one(arb_mat_entry(matrix, i, m));
      arb_set_ui(arb_mat_entry(matrix, m, i), problem_.Count(margin_[i]));
      const Ball sum = BoxedSum(margin_[i]);
      arb_neg(arb_mat_entry(rhs, i, 0), sum);
    }
    arb_set_fmpz(arb_mat_entry(rhs, m, 0), Mass());
    const bool solved = arb_mat_solve(solution_, matrix, rhs, precision_) != 0;
    arb_mat_clear(matrix);
    arb_mat_clear(rhs);
    return solved;
  }

  std::optional<WeightSide> Side(size_t k) override {
    if (arb_is_negative(Scaled(k))) return WeightSide::kBelowOrAtZero;
    const Ball room = Room(k);
    if (arb_is_negative(room)) return WeightSide::kAtOrAboveBox;
    if (arb_is_positive(Scaled(k)) && arb_is_positive(room)) return WeightSide::kInside;
    return std::nullopt;
  }

  std::optional<RoundedDouble> Weight(size_t k) override { return RoundToDouble(Unscaled(Scaled(k))); }

  std::optional<RoundedDouble> Rho() override {
    Ball rho;
    arb_mul_2exp_si(rho, arb_mat_entry(solution_, static_cast<slong>(margin_.size()), 0), 1);
    rho = Unscaled(rho);
    arb_add_ui(rho, rho, 1, precision_);
    return RoundToDouble(rho);
  }

  std::optional<Slack> SlackOf(uint32_t j) override {
    Ball sum = BoxedSum(j);
    Ball term;
    for (size_t k = 0; k < margin_.size(); ++k) {
      SetTimesCount(problem_.Kernel(j, margin_[k]), margin_[k], term);
      arb_addmul(sum, term, Scaled(k), precision_);
    }
    if (std::binary_search(error_.begin(), error_.end(), j)) {
      arb_set_d(term, problem_.ridge());
      arb_addmul_fmpz(sum, term, problem_.box().numerator(), precision_);
    }
    arb_add(sum, sum, arb_mat_entry(solution_, static_cast<slong>(margin_.size()), 0), precision_);
    const Ball slack = Unscaled(sum);
    if (!arb_is_nonzero(slack)) return std::nullopt;
    Ball magnitude;
    arb_abs(magnitude, slack);
    return Slack{arb_is_positive(slack) ? 1 : -1, LowerBound(magnitude)};
  }

  double DistanceLower(size_t k) override {
    return std::min(LowerBound(Unscaled(Scaled(k))), LowerBound(Unscaled(Room(k))));
  }

 private:
  // q - p |E|.
  Integer Mass() const {
    Integer mass(problem_.Count(error_));
    fmpz_mul(mass, mass, problem_.box().numerator());
    fmpz_sub(mass, problem_.box().denominator(), mass);
    return mass;
  }

  // Newton's method with a Cholesky factor in doubles and residuals in balls; the radius of the result is the
  // bound (4.2) of docs/math/canonical.md. False if the factorisation breaks down.
  bool Refine() {
    const auto m = static_cast<Eigen::Index>(margin_.size());
    Eigen::MatrixXd h(m, m);
    for (Eigen::Index i = 0; i < m; ++i) {
      for (Eigen::Index j = 0; j <= i; ++j) h(i, j) = h(j, i) = problem_.Kernel(margin_[i], margin_[j]);
    }
    const Eigen::VectorXd roots = RootCounts();
    Eigen::MatrixXd regular = roots.asDiagonal() * h * roots.asDiagonal();
    regular.diagonal().array() += problem_.ridge();
    const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(regular);  // in place
    if (factor.info() != Eigen::Success) return false;
    const Eigen::VectorXd u = factor.solve(roots);
    const double t = roots.dot(u);

    const InverseBounds inverse = BoundInverse();
    std::vector<Ball> rhs;
    for (const uint32_t i : margin_) rhs.push_back(BoxedSum(i));
    const slong precision = precision_ + 32;
    std::vector<Ball> iterate(margin_.size() + 1);
    Ball least;
    arb_pos_inf(least);
    for (int round = 0; round < 40; ++round) {
      const Residual residual = Evaluate(h, rhs, iterate, precision);
      Ball weight_error;
      arb_mul(weight_error, residual.norm, inverse.full, precision_);
      arb_addmul(weight_error, residual.sigma_magnitude, inverse.root, precision_);
      Ball twice;
      arb_mul_2exp_si(twice, weight_error, 1);
      if (arb_lt(weight_error, least)) {
        Ball h_error;
        arb_mul(h_error, residual.norm, inverse.root, precision_);
        arb_addmul(h_error, residual.sigma_magnitude, inverse.of_one, precision_);
        for (size_t k = 0; k <= margin_.size(); ++k) {
          arb_struct* out = arb_mat_entry(solution_, static_cast<slong>(k), 0);
          arb_set(out, iterate[k]);
          arb_add_error(out, k < margin_.size() ? weight_error : h_error);
        }
      }
      if (round > 1 && !arb_lt(twice, least)) break;
      least = weight_error;
      const Eigen::VectorXd step = factor.solve(roots.cwiseProduct(residual.r));
      const double delta = (residual.sigma - roots.dot(step)) / t;
      for (Eigen::Index k = 0; k < m; ++k)
        Correct((step[k] + delta * u[k]) / roots[k], precision, &iterate[k]);
      Correct(-delta, precision, &iterate[margin_.size()]);
    }
    return arb_is_finite(least) != 0;
  }

  // x times the count of `group`, exactly.
  void SetTimesCount(double x, uint32_t group, arb_struct* out) const {
    arb_set_d(out, x);
    const uint32_t count = problem_.Count(group);
    if (count > 1) arb_mul_ui(out, out, count, ARF_PREC_EXACT);
  }

  // With the columns and rows of groups scaled by the roots of their counts, the matrix is symmetric.
  Eigen::VectorXd RootCounts() const {
    Eigen::VectorXd roots(static_cast<Eigen::Index>(margin_.size()));
    for (size_t k = 0; k < margin_.size(); ++k)
      roots[static_cast<Eigen::Index>(k)] = std::sqrt(problem_.Count(margin_[k]));
    return roots;
  }

  static void Correct(double step, slong precision, Ball* x) {
    const Float correction(step);
    arb_add_arf(*x, *x, correction, precision);
    mag_zero(arb_radref(static_cast<arb_struct*>(*x)));  // any number will do as an iterate
  }

  // Enclosures of 1/lambda, ((1 + ridge)/lambda)^1/2 and 1 + ridge.
  struct InverseBounds {
    Ball full;
    Ball root;
    Ball of_one;
  };
  InverseBounds BoundInverse() const {
    InverseBounds out;
    Ball lambda;
    arb_set_ui(lambda, problem_.Count(margin_));
    arb_mul_2exp_si(lambda, lambda, -54);
    arb_set_d(out.of_one, problem_.ridge());
    arb_sub(lambda, out.of_one, lambda, precision_);
    arb_add_ui(out.of_one, out.of_one, 1, precision_);
    arb_inv(out.full, lambda, precision_);
    arb_div(out.root, out.of_one, lambda, precision_);
    arb_sqrt(out.root, out.root, precision_);
    return out;
  }

  // Of the iterate: the residuals of groups, roughly, and enclosures of |r|_2 over all tokens and of |sigma|
  // that hold for the exact ones.
  struct Residual {
    Eigen::VectorXd r;
    double sigma = 0;
    Ball norm;
    Ball sigma_magnitude;
  };
  // `boxed` = p K_SE 1.
  Residual Evaluate(const Eigen::MatrixXd& kernel, const std::vector<Ball>& boxed,
                    const std::vector<Ball>& iterate, slong precision) const {
    const auto m = static_cast<slong>(margin_.size());
    arb_ptr x = _arb_vec_init(m + 1);
    arb_ptr row = _arb_vec_init(m + 1);
    for (slong k = 0; k <= m; ++k) arb_set(x + k, iterate[k]);
    Residual out;
    out.r.resize(m);
    Ball squares;
    Ball value;
    Ball ridge;
    arb_set_d(ridge, problem_.ridge());
    arb_one(row + m);
    for (slong i = 0; i < m; ++i) {
      for (slong j = 0; j < m; ++j) SetTimesCount(kernel(j, i), margin_[j], row + j);
      arb_add(row + i, row + i, ridge, ARF_PREC_EXACT);
      arb_dot(value, boxed[i], 0, row, 1, x, 1, m + 1, precision);
      arb_neg(value, value);
      out.r[i] = arf_get_d(arb_midref(static_cast<arb_struct*>(value)), ARF_RND_NEAR);
      arb_mul(value, value, value, precision_);
      arb_addmul_ui(squares, value, problem_.Count(margin_[i]), precision_);
    }
    arb_sqrtpos(out.norm, squares, precision_);
    for (slong j = 0; j < m; ++j) arb_set_ui(row + j, problem_.Count(margin_[j]));
    arb_set_fmpz(value, Mass());
    arb_dot(value, value, 1, row, 1, x, 1, m, precision);
    out.sigma = arf_get_d(arb_midref(static_cast<arb_struct*>(value)), ARF_RND_NEAR);
    arb_abs(out.sigma_magnitude, value);
    _arb_vec_clear(x, m + 1);
    _arb_vec_clear(row, m + 1);
    return out;
  }

  const arb_struct* Scaled(size_t k) const { return arb_mat_entry(solution_, static_cast<slong>(k), 0); }

  // p - y_k.
  Ball Room(size_t k) const {
    Ball room;
    arb_sub_fmpz(room, Scaled(k), problem_.box().numerator(), precision_);
    arb_neg(room, room);
    return room;
  }

  Ball Unscaled(const arb_struct* x) const {
    Ball out;
    arb_div_fmpz(out, x, problem_.box().denominator(), precision_);
    return out;
  }

  // p * sum over E of K_je.
  Ball BoxedSum(uint32_t j) {
    Ball out;
    arb_set_arf(out, problem_.KernelSum(error_, j));
    arb_mul_fmpz(out, out, problem_.box().numerator(), precision_);
    return out;
  }

  Problem& problem_;
  const std::vector<uint32_t>& margin_;
  const std::vector<uint32_t>& error_;
  slong precision_;
  arb_mat_t solution_;
};

}  // namespace

std::unique_ptr<SupportSolution> SolveInBalls(Problem* problem, const Partition& partition,
                                              int precision_bits) {
  auto solution = std::make_unique<BallSolution>(problem, partition, precision_bits);
  if (!solution->Solve()) return nullptr;
  return solution;
}

}  // namespace expunge::solver
