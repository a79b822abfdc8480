#include <algorithm>
#include <cmath>

#include "solver/support_solution.h"

namespace expunge::solver {
namespace {

// x * 2^-exponent as an integer. REQUIRES: it is one.
void ScaledInteger(double x, slong exponent, fmpz_t out) {
  if (x == 0) {
    fmpz_zero(out);
    return;
  }
  int e = 0;
  const double mantissa = std::frexp(x, &e);
  fmpz_set_si(out, static_cast<slong>(std::ldexp(mantissa, 53)));
  const slong shift = e - 53 - exponent;
  if (shift >= 0) {
    fmpz_mul_2exp(out, out, static_cast<ulong>(shift));
  } else {
    fmpz_fdiv_q_2exp(out, out, static_cast<ulong>(-shift));  // exact: trailing zeros of the mantissa
  }
}

// A power of two, as exponent, that divides x exactly.
slong ExponentOf(double x) {
  if (x == 0) return 0;
  int e = 0;
  std::frexp(x, &e);
  return std::min<slong>(0, e - 53);
}

// All data times 2^-e are integers (e <= 0). With C_n = p/q, y = q a_S and z = -q h 2^-e solve
//     (2^-e H_SS) y + z 1 = -p (2^-e K_SE 1),    1'y = q - p |E|,
// the columns of each group added up.
class ExactSolution final : public RationalSolution {
 public:
  ExactSolution(Problem* problem, const Partition& partition)
      : problem_(*problem), margin_(partition.margin), error_(partition.error) {
    fmpz_mat_init(solution_, static_cast<slong>(margin_.size()) + 1, 1);
  }
  ~ExactSolution() override { fmpz_mat_clear(solution_); }
  ExactSolution(const ExactSolution&) = delete;
  ExactSolution& operator=(const ExactSolution&) = delete;

  bool Solve() {
    const auto m = static_cast<slong>(margin_.size());
    exponent_ = ExponentOf(problem_.ridge());
    for (const uint32_t i : margin_) {
      for (const uint32_t j : margin_) exponent_ = std::min(exponent_, ExponentOf(problem_.Kernel(i, j)));
      for (const uint32_t e : error_) exponent_ = std::min(exponent_, ExponentOf(problem_.Kernel(i, e)));
    }
    fmpz_mat_t matrix;
    fmpz_mat_t rhs;
    fmpz_mat_init(matrix, m + 1, m + 1);
    fmpz_mat_init(rhs, m + 1, 1);
    Integer ridge;
    ScaledInteger(problem_.ridge(), exponent_, ridge);
    for (slong i = 0; i < m; ++i) {
      for (slong j = 0; j < m; ++j) {
        fmpz* entry = fmpz_mat_entry(matrix, i, j);
        ScaledInteger(problem_.Kernel(margin_[i], margin_[j]), exponent_, entry);
        fmpz_mul_ui(entry, entry, problem_.Count(margin_[j]));
      }
      fmpz_add(fmpz_mat_entry(matrix, i, i), fmpz_mat_entry(matrix, i, i), ridge);
      fmpz_one(fmpz_mat_entry(matrix, i, m));
      fmpz_set_ui(fmpz_mat_entry(matrix, m, i), problem_.Count(margin_[i]));
      const Integer sum = BoxedSum(margin_[i], exponent_);
      fmpz_neg(fmpz_mat_entry(rhs, i, 0), sum);
    }
    fmpz_t mass;
    fmpz_init_set_ui(mass, problem_.Count(error_));
    fmpz_mul(mass, mass, problem_.box().numerator());
    fmpz_sub(fmpz_mat_entry(rhs, m, 0), problem_.box().denominator(), mass);
    fmpz_clear(mass);
    // X = den * solution of the integer system.
    const bool solved = m < 24 ? fmpz_mat_solve(solution_, denominator_, matrix, rhs) != 0
                               : fmpz_mat_solve_dixon_den(solution_, denominator_, matrix, rhs) != 0;
    if (solved && fmpz_sgn(denominator_) < 0) {
      fmpz_neg(denominator_, denominator_);
      fmpz_mat_neg(solution_, solution_);
    }
    fmpz_mat_clear(matrix);
    fmpz_mat_clear(rhs);
    return solved;
  }

  Rational ExactWeight(size_t k) override {
    return Unscaled(fmpz_mat_entry(solution_, static_cast<slong>(k), 0), 0);
  }

  Rational ExactSlack(uint32_t j) override {
    slong e = exponent_;
    for (const uint32_t i : margin_) e = std::min(e, ExponentOf(problem_.Kernel(j, i)));
    for (const uint32_t i : error_) e = std::min(e, ExponentOf(problem_.Kernel(j, i)));
    // 2^-e * q * den * ((Ha)_j - h).
    Integer sum = BoxedSum(j, e);
    Integer term;
    if (std::binary_search(error_.begin(), error_.end(), j)) {
      ScaledInteger(problem_.ridge(), e, term);
      fmpz_addmul(sum, term, problem_.box().numerator());
    }
    fmpz_mul(sum, sum, denominator_);
    for (size_t k = 0; k < margin_.size(); ++k) {
      ScaledInteger(problem_.Kernel(j, margin_[k]), e, term);
      fmpz_mul_ui(term, term, problem_.Count(margin_[k]));
      fmpz_addmul(sum, term, fmpz_mat_entry(solution_, static_cast<slong>(k), 0));
    }
    fmpz_mul_2exp(term, fmpz_mat_entry(solution_, static_cast<slong>(margin_.size()), 0),
                  static_cast<ulong>(exponent_ - e));
    fmpz_add(sum, sum, term);
    return Unscaled(sum, e);
  }

  std::optional<WeightSide> Side(size_t k) override {
    const Rational weight = ExactWeight(k);
    if (fmpq_sgn(weight) <= 0) return WeightSide::kBelowOrAtZero;
    if (fmpq_cmp(weight, problem_.box()) >= 0) return WeightSide::kAtOrAboveBox;
    return WeightSide::kInside;
  }

  std::optional<RoundedDouble> Weight(size_t k) override { return RoundToDouble(ExactWeight(k)); }

  std::optional<RoundedDouble> Rho() override {
    Rational rho = Unscaled(fmpz_mat_entry(solution_, static_cast<slong>(margin_.size()), 0), exponent_ + 1);
    fmpq_add_si(rho, rho, 1);
    return RoundToDouble(rho);
  }

  std::optional<Slack> SlackOf(uint32_t j) override {
    const Rational slack = ExactSlack(j);
    Rational magnitude;
    fmpq_abs(magnitude, slack);
    return Slack{fmpq_sgn(slack), LowerBound(magnitude)};
  }

  double DistanceLower(size_t k) override {
    const Rational weight = ExactWeight(k);
    Rational room;
    fmpq_sub(room, problem_.box(), weight);
    return std::min(LowerBound(weight), LowerBound(room));
  }

 private:
  // x * 2^exponent / (q den).
  Rational Unscaled(const fmpz* x, slong exponent) const {
    Rational out;
    fmpz_set(out.numerator(), x);
    fmpz_mul(out.denominator(), problem_.box().denominator(), denominator_);
    if (exponent < 0) {
      fmpz_mul_2exp(out.denominator(), out.denominator(), static_cast<ulong>(-exponent));
    } else {
      fmpz_mul_2exp(out.numerator(), out.numerator(), static_cast<ulong>(exponent));
    }
    fmpq_canonicalise(out);
    return out;
  }

  // p * 2^-exponent * sum over E of K_je.
  Integer BoxedSum(uint32_t j, slong exponent) {
    Integer sum;
    Integer term;
    for (const uint32_t e : error_) {
      ScaledInteger(problem_.Kernel(j, e), exponent, term);
      fmpz_addmul_ui(sum, term, problem_.Count(e));
    }
    fmpz_mul(sum, sum, problem_.box().numerator());
    return sum;
  }

  Problem& problem_;
  const std::vector<uint32_t>& margin_;
  const std::vector<uint32_t>& error_;
  slong exponent_ = 0;
  Integer denominator_;
  fmpz_mat_t solution_;
};

}  // namespace

std::unique_ptr<RationalSolution> SolveInRationals(Problem* problem, const Partition& partition) {
  auto solution = std::make_unique<ExactSolution>(problem, partition);
  if (!solution->Solve()) return nullptr;
  return solution;
}

}  // namespace expunge::solver
