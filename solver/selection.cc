#include "solver/selection.h"

#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "solver/exact_numbers.h"
#include "solver/kernel.h"
#include "solver/problem.h"

namespace expunge::solver {
namespace {

constexpr slong kPrecision = 128;
// Of a stored weight: 2^-53 of the exact one, hence slightly more of the stored one; and of one that
// underflowed.
constexpr double kWeightError = 0x1p-53 * (1 + 0x1p-50);
constexpr double kWeightUnderflow = 0x1p-1074;

void AddDouble(double x, Ball* sum) {
  const Float term(x);
  arb_add_arf(*sum, *sum, term, kPrecision);
}

void AddProduct(double x, double y, Ball* sum) {
  Ball product;
  arb_set_d(product, x);
  const Float factor(y);
  arb_addmul_arf(*sum, product, factor, kPrecision);
}

double UpperBound(const Ball& x) {
  Ball negative;
  arb_neg(negative, x);
  return -LowerBound(negative);
}

// da = a(s) - a(s0), by keys: equal keys have one image under phi.
class WeightChange {
 public:
  explicit WeightChange(const Config& config) : config_(config) {}

  // `sign` is 1 for a state s, -1 for s0.
  void Add(const std::vector<SupportEntry>& support, double sign) {
    for (const SupportEntry& entry : support) {
      const auto [it, inserted] =
          positions_.try_emplace(absl::MakeConstSpan(entry.token->key), changes_.size());
      if (inserted) {
        keys_.push_back(entry.token->key.data());
        changes_.emplace_back();
      }
      AddDouble(sign * entry.weight, &changes_[it->second]);
      AddProduct(entry.weight, kWeightError, &weight_error_);
      AddDouble(kWeightUnderflow, &weight_error_);
    }
  }

  // An upper bound of |sum_i K_ji da_i| for any key x_j: |sum_i da_i phi(x_i)|, what the rounding of the
  // kernel adds, and the error of the weights.
  [[nodiscard]] Ball Movement() const {
    Ball total;  // |da|_1
    Ball square;
    Ball magnitude;
    for (size_t i = 0; i < changes_.size(); ++i) {
      if (arb_is_zero(changes_[i]) != 0) continue;
      arb_abs(magnitude, changes_[i]);
      arb_add(total, total, magnitude, kPrecision);
      // d_i (d_i + 2 sum over j < i of K_ij d_j)
      const Ball row = RowBefore(i);
      arb_addmul(square, changes_[i], changes_[i], kPrecision);
      arb_addmul(square, changes_[i], row, kPrecision);
      arb_addmul(square, changes_[i], row, kPrecision);
    }
    // Entries off the diagonal are within 2^-54 of the kernel: of d'Kd and of each sum.
    Ball rounding;
    arb_mul(rounding, total, total, kPrecision);
    arb_mul_2exp_si(rounding, rounding, -54);
    arb_add(square, square, rounding, kPrecision);
    Ball movement;
    arb_sqrtpos(movement, square, kPrecision);
    arb_mul_2exp_si(rounding, total, -54);
    arb_add(movement, movement, rounding, kPrecision);
    arb_add(movement, movement, weight_error_, kPrecision);
    return movement;
  }

 private:
  [[nodiscard]] Ball RowBefore(size_t i) const {
    Ball row;
    for (size_t j = 0; j < i; ++j) {
      if (arb_is_zero(changes_[j]) != 0) continue;
      const Float value(ExactKernel(keys_[i], keys_[j], config_.key_dimension, config_.gamma));
      arb_addmul_arf(row, changes_[j], value, kPrecision);
    }
    return row;
  }

  const Config& config_;
  absl::flat_hash_map<absl::Span<const double>, size_t> positions_;
  std::vector<const double*> keys_;
  std::vector<Ball> changes_;
  Ball weight_error_;
};

// Whether C_n = C with these tokens in S and E: their weights sum to 1, so that otherwise C_n > C, and then
// it counts the tokens.
bool BoxIsAbsolute(const Config& config, uint64_t support) {
  Rational capacity = ExactBoxBound(config.box);
  fmpq_mul_fmpz(capacity, capacity, Integer(support));
  return fmpz_cmp(capacity.numerator(), capacity.denominator()) >= 0;
}

}  // namespace

Selection::Selection(const Config& config, std::vector<SupportEntry> reference, double rho,
                     double margin_lower, uint64_t dropped, double erased_weight_upper)
    : config_(config),
      reference_(std::move(reference)),
      rho_(rho),
      margin_lower_(margin_lower),
      dropped_(dropped),
      erased_weight_upper_(erased_weight_upper) {}

void Selection::Forget(absl::string_view id) {
  for (size_t i = 0; i < reference_.size();) {
    if (reference_[i].token->id != id) {
      ++i;
      continue;
    }
    // Rounded up: each operation and the weight itself err by at most 2^-53.
    erased_weight_upper_ = (erased_weight_upper_ + reference_[i].weight + kWeightUnderflow) * (1 + 0x1p-50);
    reference_.erase(reference_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

Horizon Selection::Evaluate(const std::vector<SupportEntry>& support, double rho) const {
  FreeCachesAtThreadExit();
  WeightChange change(config_);
  change.Add(support, 1);
  change.Add(reference_, -1);
  Ball movement = change.Movement();
  AddDouble(erased_weight_upper_, &movement);
  arb_mul_2exp_si(movement, movement, 1);
  Ball rho_change;
  AddDouble(rho, &rho_change);
  AddDouble(-rho_, &rho_change);
  arb_abs(rho_change, rho_change);
  arb_add(movement, movement, rho_change, kPrecision);
  for (const double x : {1.0, 1.0, std::fabs(rho), std::fabs(rho_)}) AddProduct(x, 0x1p-53, &movement);

  Horizon out;
  out.movement_upper = UpperBound(movement);
  out.margin_lower = margin_lower_;
  out.holds = dropped_ == 0 || (BoxIsAbsolute(config_, support.size()) && out.movement_upper < margin_lower_);
  return out;
}

}  // namespace expunge::solver
