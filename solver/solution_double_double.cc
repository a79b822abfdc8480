#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "solver/support_solution.h"

namespace expunge::solver {
namespace {

// Covers the rounding of the bounds' own evaluation: fewer than 2^20 operations, each 2^-53.
constexpr double kOutward = 1 + 0x1p-30;
// Covers products whose error terms fall below the range of a double, for any number of terms in use.
constexpr double kUnderflow = 0x1p-940;
constexpr double kRoundoff = 0x1p-53;

class DoubleDoubleSolution final : public SupportSolution {
 public:
  DoubleDoubleSolution(Problem* problem, const Partition& partition)
      : problem_(*problem), margin_(partition.margin), error_(partition.error), m_(margin_.size()) {}

  // False if the factorisation breaks down.
  bool Solve() {
    kernel_.resize(static_cast<Eigen::Index>(m_), static_cast<Eigen::Index>(m_));
    for (size_t i = 0; i < m_; ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      for (size_t j = 0; j <= i; ++j) {
        const auto column = static_cast<Eigen::Index>(j);
        kernel_(row, column) = kernel_(column, row) = problem_.Kernel(margin_[i], margin_[j]);
      }
    }
    roots_.resize(static_cast<Eigen::Index>(m_));
    for (size_t i = 0; i < m_; ++i) {
      counts_.push_back(problem_.Count(margin_[i]));
      roots_[static_cast<Eigen::Index>(i)] = std::sqrt(counts_[i]);
    }
    Eigen::MatrixXd h = roots_.asDiagonal() * kernel_ * roots_.asDiagonal();
    h.diagonal().array() += problem_.ridge();
    factor_.compute(h);
    if (factor_.info() != Eigen::Success) return false;
    const double m = static_cast<double>(problem_.Count(margin_));
    lambda_ = (problem_.ridge() - m * 0x1p-54) * (1 - 0x1p-50);
    if (!(lambda_ > 0)) return false;
    SetRightHandSide();
    Refine();
    ComputeApproxSlacks();
    return std::isfinite(weight_error_) && std::isfinite(h_error_);
  }

  std::optional<WeightSide> Side(size_t k) override {
    const DoubleDouble a = weights_[k];
    if (a.hi < -2 * weight_error_) return WeightSide::kBelowOrAtZero;
    const DoubleDouble room = problem_.box_dd() - a;
    const double error = RoomError(k);
    if (room.hi < -2 * error) return WeightSide::kAtOrAboveBox;
    if (a.hi > 2 * weight_error_ && room.hi > 2 * error) return WeightSide::kInside;
    return std::nullopt;
  }

  std::optional<RoundedDouble> Weight(size_t k) override {
    if (!RoundsToHi(weights_[k], weight_error_)) return std::nullopt;
    return RoundedDouble{weights_[k].hi, false};
  }

  std::optional<RoundedDouble> Rho() override {
    const DoubleDouble rho = DoubleDouble{1, 0} - DoubleDouble{2 * h_.hi, 2 * h_.lo};
    const double error = (2 * h_error_ + (1 + 2 * std::fabs(h_.hi)) * kDoubleDoubleError) * kOutward;
    if (!RoundsToHi(rho, error)) return std::nullopt;
    return RoundedDouble{rho.hi, false};
  }

  std::optional<Slack> SlackOf(uint32_t j) override {
    const double rough = approx_[j] - h_.hi;
    if (std::fabs(rough) > 2 * approx_error_) {
      return Slack{rough > 0 ? 1 : -1, (std::fabs(rough) - approx_error_) * (1 - 0x1p-50)};
    }
    return PreciseSlack(j);
  }

  double DistanceLower(size_t k) override {
    const double low = (weights_[k].hi - 2 * weight_error_) * (1 - 0x1p-50);
    const double high = ((problem_.box_dd() - weights_[k]).hi - 2 * RoomError(k)) * (1 - 0x1p-50);
    return std::max(0.0, std::min(low, high));
  }

 private:
  double RoomError(size_t k) const {
    return (weight_error_ + (problem_.box_dd().hi + std::fabs(weights_[k].hi)) * 2 * kDoubleDoubleError) *
           kOutward;
  }

  // b = -C_n K_SE 1 and s = 1 - C_n |E|.
  void SetRightHandSide() {
    rhs_.resize(m_);
    const double terms = 2 * static_cast<double>(error_.size()) + 4;
    for (size_t i = 0; i < m_; ++i) {
      DoubleDouble sum;
      for (const uint32_t e : error_) sum = sum + TwoProd(problem_.Kernel(margin_[i], e), problem_.Count(e));
      rhs_[i] = -(sum * problem_.box_dd());
    }
    rhs_terms_ = terms;
    const double error_count = static_cast<double>(problem_.Count(error_));
    mass_ = DoubleDouble{1, 0} - problem_.box_dd() * error_count;
    mass_error_ = 4 * (1 + problem_.box_dd().hi * error_count) * kDoubleDoubleError;
  }

  // r = b + h 1 - H_SS a, by groups, and sigma = s - 1'a in double-double; upper bounds of |r|_2, over all
  // tokens, and |sigma| of the exact residuals.
  struct Residual {
    Eigen::VectorXd r;
    double sigma = 0;
    double r_norm_upper = 0;
    double sigma_upper = 0;
  };
  Residual Evaluate() const {
    Residual out;
    out.r.resize(static_cast<Eigen::Index>(m_));
    const double per_term = (static_cast<double>(m_) + rhs_terms_ + 9) * kDoubleDoubleError;
    double squares = 0;
    std::vector<DoubleDouble> masses;  // of groups
    for (size_t j = 0; j < m_; ++j) masses.push_back(weights_[j] * counts_[j]);
    for (size_t i = 0; i < m_; ++i) {
      const double* column = kernel_.col(static_cast<Eigen::Index>(i)).data();
      DoubleDouble sum = rhs_[i] + h_;
      double magnitude = std::fabs(rhs_[i].hi) + std::fabs(h_.hi);
      for (size_t j = 0; j < m_; ++j) {
        const double value = column[j];  // the matrix is symmetric
        sum = sum - masses[j] * value;
        magnitude += std::fabs(masses[j].hi) * value;
      }
      sum = sum - weights_[i] * problem_.ridge();
      magnitude += std::fabs(weights_[i].hi) * problem_.ridge();
      out.r[static_cast<Eigen::Index>(i)] = sum.hi;
      const double upper = std::fabs(sum.hi) * (1 + 0x1p-52) + magnitude * per_term + kUnderflow;
      squares += counts_[i] * upper * upper;
    }
    DoubleDouble sigma = mass_;
    double magnitude = std::fabs(mass_.hi);
    for (const DoubleDouble& a : masses) {
      sigma = sigma - a;
      magnitude += std::fabs(a.hi);
    }
    out.sigma = sigma.hi;
    out.sigma_upper = (std::fabs(sigma.hi) * (1 + 0x1p-52) + magnitude * per_term + mass_error_) * kOutward;
    out.r_norm_upper = std::sqrt(squares) * kOutward;
    return out;
  }

  // Newton's method for (B) with the factor in doubles; stops when the proven bound no longer halves.
  void Refine() {
    weights_.assign(m_, {});
    h_ = {};
    const Eigen::VectorXd u = factor_.solve(roots_);
    const double t = roots_.dot(u);
    const double sqrt_term = std::sqrt((1 + problem_.ridge()) / lambda_) * kOutward;
    weight_error_ = h_error_ = std::numeric_limits<double>::infinity();
    std::vector<DoubleDouble> best_weights = weights_;
    DoubleDouble best_h = h_;
    for (int round = 0; round < 12; ++round) {
      const Residual residual = Evaluate();
      const double weight_error =
          (residual.r_norm_upper / lambda_ + residual.sigma_upper * sqrt_term) * kOutward;
      const double h_error =
          (sqrt_term * residual.r_norm_upper + (1 + problem_.ridge()) * residual.sigma_upper) * kOutward;
      const bool halved = weight_error < 0.5 * weight_error_;
      if (weight_error < weight_error_) {
        weight_error_ = weight_error;
        h_error_ = h_error;
        best_weights = weights_;
        best_h = h_;
      }
      if (round > 1 && !halved) break;
      const Eigen::VectorXd step = factor_.solve(roots_.cwiseProduct(residual.r));
      const double delta_h = (residual.sigma - roots_.dot(step)) / t;
      for (size_t i = 0; i < m_; ++i) {
        const auto k = static_cast<Eigen::Index>(i);
        weights_[i] = weights_[i] + (step[k] + delta_h * u[k]) / roots_[k];
      }
      h_ = h_ + delta_h;
    }
    weights_ = best_weights;
    h_ = best_h;
  }

  // (Ha)_j for all j in doubles, and one bound of the error of (Ha)_j - h for all of them.
  void ComputeApproxSlacks() {
    const size_t n = problem_.n();
    approx_.assign(n, 0.0);
    double total = 0;
    const auto add_row = [&](uint32_t token, double weight) {
      const double* row = problem_.ApproxRow(token);
      for (size_t j = 0; j < n; ++j) approx_[j] += weight * row[j];
      total += std::fabs(weight);
    };
    for (size_t k = 0; k < m_; ++k) add_row(margin_[k], weights_[k].hi * counts_[k]);
    for (const uint32_t e : error_) {
      add_row(e, problem_.box_dd().hi * problem_.Count(e));
      approx_[e] += problem_.ridge() * problem_.box_dd().hi;
    }
    const double terms = static_cast<double>(m_ + error_.size()) + 9;
    approx_error_ = (total * (1 + problem_.ridge()) * (terms * kRoundoff + problem_.approx_error()) +
                     std::fabs(h_.hi) * 4 * kRoundoff + SolutionError()) *
                    (1 + 0x1p-20);
  }

  // |K_jS (a - a*)| + |h - h*|, with |K_jS|_2 <= sqrt(m), m counting tokens.
  double SolutionError() const {
    return (std::sqrt(static_cast<double>(problem_.Count(margin_))) * weight_error_ + h_error_) * kOutward;
  }

  std::optional<Slack> PreciseSlack(uint32_t j) {
    DoubleDouble sum;
    double magnitude = std::fabs(h_.hi);
    for (size_t k = 0; k < m_; ++k) {
      const double value = problem_.Kernel(j, margin_[k]);
      sum = sum + weights_[k] * counts_[k] * value;
      magnitude += std::fabs(weights_[k].hi) * counts_[k] * value;
    }
    DoubleDouble box_sum;
    bool in_error = false;
    for (const uint32_t e : error_) {
      box_sum = box_sum + TwoProd(problem_.Kernel(j, e), problem_.Count(e));
      in_error = in_error || e == j;
    }
    sum = sum + box_sum * problem_.box_dd();
    if (in_error) sum = sum + problem_.box_dd() * problem_.ridge();
    magnitude += (box_sum.hi + problem_.ridge()) * problem_.box_dd().hi;
    const double difference = (sum - h_).hi;
    const double terms = static_cast<double>(m_ + 2 * error_.size()) + 13;
    const double error = (magnitude * terms * kDoubleDoubleError + kUnderflow + SolutionError()) * kOutward;
    if (!(std::fabs(difference) > 2 * error)) return std::nullopt;
    return Slack{difference > 0 ? 1 : -1, (std::fabs(difference) - error) * (1 - 0x1p-50)};
  }

  Problem& problem_;
  const std::vector<uint32_t>& margin_;
  const std::vector<uint32_t>& error_;
  size_t m_;
  std::vector<double> counts_;  // tokens of each group
  Eigen::VectorXd roots_;       // of the counts
  Eigen::MatrixXd kernel_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
  double lambda_ = 0;  // lower bound of the smallest eigenvalue of H_SS
  std::vector<DoubleDouble> rhs_;
  double rhs_terms_ = 0;
  DoubleDouble mass_;
  double mass_error_ = 0;
  std::vector<DoubleDouble> weights_;
  DoubleDouble h_;
  double weight_error_ = 0;  // >= |a - a*|_2 over all tokens
  double h_error_ = 0;       // >= |h - h*|
  std::vector<double> approx_;
  double approx_error_ = 0;
};

}  // namespace

std::unique_ptr<SupportSolution> SolveInDoubleDouble(Problem* problem, const Partition& partition) {
  auto solution = std::make_unique<DoubleDoubleSolution>(problem, partition);
  if (!solution->Solve()) return nullptr;
  return solution;
}

}  // namespace expunge::solver
