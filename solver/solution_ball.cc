#include <algorithm>

#include "solver/support_solution.h"

namespace expunge::solver {
namespace {

// Unknowns scaled by the denominator q of C_n = p/q, so that all data are exact: y = q a_S and z = -q h solve
//     H_SS y + z 1 = -p K_SE 1,    1'y = q - p |E|.
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
    arb_mat_t matrix;
    arb_mat_t rhs;
    arb_mat_init(matrix, m + 1, m + 1);
    arb_mat_init(rhs, m + 1, 1);
    Ball ridge;
    arb_set_d(ridge, problem_.ridge());
    for (slong i = 0; i < m; ++i) {
      for (slong j = 0; j < m; ++j) {
        arb_set_d(arb_mat_entry(matrix, i, j), problem_.Kernel(margin_[i], margin_[j]));
      }
      arb_add(arb_mat_entry(matrix, i, i), arb_mat_entry(matrix, i, i), ridge, ARF_PREC_EXACT);
      arb_one(arb_mat_entry(matrix, i, m));
      arb_one(arb_mat_entry(matrix, m, i));
      const Ball sum = BoxedSum(margin_[i]);
      arb_neg(arb_mat_entry(rhs, i, 0), sum);
    }
    Integer mass(error_.size());
    fmpz_mul(mass, mass, problem_.box().numerator());
    fmpz_sub(mass, problem_.box().denominator(), mass);
    arb_set_fmpz(arb_mat_entry(rhs, m, 0), mass);
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
      arb_set_d(term, problem_.Kernel(j, margin_[k]));
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
    Float sum;
    Float term;
    for (const uint32_t e : error_) {
      arf_set_d(term, problem_.Kernel(j, e));
      arf_add(sum, sum, term, ARF_PREC_EXACT, ARF_RND_DOWN);
    }
    Ball out;
    arb_set_arf(out, sum);
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
