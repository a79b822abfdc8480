#include "solver/active_set.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "solver/dense.h"
#include "solver/kernel.h"
#include "solver/problem.h"

namespace expunge::solver {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Relative to f: rows and masses are rounded to single precision, and at most eleven roundings of that size
// follow in dense::AccumulateRows. One more covers the products of these, and the quotient of exact and
// computed f.
constexpr double kPassRelative = 14 * 0x1p-24;
constexpr size_t kSpareRows = 32;   // rows kept of groups that left S
constexpr size_t kErrorRows = 256;  // rows kept of groups of E

}  // namespace

ActiveSet::ActiveSet(const Config& config, const GroupTable& table, SolverCounters* counters)
    : table_(table),
      counters_(*counters),
      d_(config.key_dimension),
      gamma_(config.gamma),
      ridge_(config.ridge),
      c_(ExactBoxBound(config.box)),
      c_dd_(ToDoubleDouble(c_)),
      rows_(table, config),
      system_(config.ridge) {
  Integer quotient;
  Integer rest;
  fmpz_tdiv_qr(quotient, rest, c_.denominator(), c_.numerator());
  whole_fits_ = fmpz_is_zero(rest) != 0;
  whole_ = fmpz_abs_fits_ui(quotient) != 0 ? fmpz_get_ui(quotient) : std::numeric_limits<uint64_t>::max();
  SetTokens(0);
}

void ActiveSet::SetTokens(uint64_t tokens) {
  const bool single_point = tokens <= whole_;
  const bool box_changes = single_point || single_point_;
  if (single_point) {
    fmpz_one(box_.numerator());
    fmpz_set_ui(box_.denominator(), std::max<uint64_t>(tokens, 1));
    box_dd_ = ToDoubleDouble(box_);
  } else if (single_point_) {
    box_ = c_;
    box_dd_ = c_dd_;
  }
  single_point_ = single_point;
  if (box_changes) {
    for (const uint32_t group : error_) weights_[group] = box_dd_.hi;
  }
  system_.SetBox(box_dd_, error_tokens_);
}

void ActiveSet::GroupAdded(uint32_t group) {
  if (table_.capacity() > classes_.size()) {
    const size_t capacity = table_.capacity();
    classes_.resize(capacity, TokenClass::kReserve);
    for (std::vector<double>* x : {&weights_, &sign_, &error_rows_, &f_}) x->resize(capacity, 0.0);
  }
  classes_[group] = TokenClass::kReserve;
  sign_[group] = 1;
  weights_[group] = 0;
  values_.resize(error_.size());
  rows_.Added(group, error_, values_.data());
  double sum = 0;
  for (size_t i = 0; i < error_.size(); ++i) {
    sum += static_cast<double>(values_[i]) * table_.Count(error_[i]);
  }
  error_rows_[group] = sum;
  error_rows_rounding_ += 0x1p-52 * static_cast<double>(error_tokens_ + 1);
  f_[group] = kInfinity;  // until the next pass
}

void ActiveSet::GroupLeaves(uint32_t group) {
  Move(group, TokenClass::kReserve);
  sign_[group] = 0;
  rows_.Erased(group);
  error_rows_[group] = f_[group] = 0;
  // Kernel values with its key, pointers to it, and its weight, in whatever the vectors have held.
  for (std::vector<double>* x : {&kernels_, &error_kernels_, &pass_masses_}) x->assign(x->capacity(), 0.0);
  for (std::vector<float>* x : {&values_, &row_weights_}) x->assign(x->capacity(), 0.0F);
  keys_.assign(keys_.capacity(), nullptr);
}

void ActiveSet::CountChanged(uint32_t group, uint32_t before) {
  const TokenClass token_class = classes_[group];
  const int64_t change = int64_t{table_.Count(group)} - before;
  if (token_class == TokenClass::kError) {
    ShiftError(group, MarginKernels(group), change);
  } else if (token_class == TokenClass::kMargin) {
    // The matrix has ridge / count on its diagonal: out, and in again.
    const size_t k = MemberIndex(group);
    const DoubleDouble e = ErrorSum(group);
    system_.Remove(k);
    system_.Append(group, table_.Count(group), MarginKernels(group), e, weights_[group]);
  }
}

double ActiveSet::FError(double f) const {
  return f * kPassRelative + rows_.error() * (1 + 0x1p-20) + (box_dd_.hi * error_rows_rounding_) + movement_ +
         0x1p-50;
}

void ActiveSet::FollowSystem() {
  movement_ = 0;
  for (size_t k = 0; k < system_.size(); ++k) {
    const double mass = system_.Count(k) * system_.Weight(k);
    movement_ += std::fabs(mass - pass_masses_[k]) + (std::fabs(mass) + std::fabs(pass_masses_[k])) * 0x1p-52;
  }
  movement_ *= 1 + 0x1p-40;
}

// Of one group, with the present masses. Its error is within FError, as that of a pass.
double ActiveSet::EvaluateF(uint32_t group) const {
  double f = (error_rows_[group] + (sign_[group] < 0 ? ridge_ : 0)) * box_dd_.hi;
  for (size_t k = 0; k < system_.size(); ++k) {
    const double value = rows_.row(system_.groups()[k])[group];
    f += system_.Count(k) * system_.Weight(k) * value;
  }
  return f;
}

double ActiveSet::ReserveMargin(uint32_t group) {
  if (system_.empty()) return 0;
  const double sum = f_[group] = EvaluateF(group);
  const double level = system_.h().hi;
  return (sum - FError(sum) - level - std::fabs(level) * 0x1p-50 - system_.SlackError()) * (1 - 0x1p-40);
}

double ActiveSet::Near(double level, double level_error, std::vector<uint32_t>* near) const {
  near->clear();
  const double constant = FError(0) + level_error + std::fabs(level) * 0x1p-50;
  const double reserve_from = (level + constant) / (1 - kPassRelative) * (1 + 0x1p-50);
  const double error_to = level * (1 - kPassRelative) - constant * (1 + 0x1p-50);
  double least = kInfinity;  // f over R
  double most = -kInfinity;  // f over E
  for (uint32_t j = 0; j < sign_.size(); ++j) {
    if (sign_[j] > 0) {
      if (f_[j] > reserve_from) {
        least = std::min(least, f_[j]);
      } else {
        near->push_back(j);  // a NaN, too
      }
    } else if (sign_[j] < 0) {
      if (f_[j] < error_to) {
        most = std::max(most, f_[j]);
      } else {
        near->push_back(j);
      }
    }
  }
  const double above = (least - FError(least)) - level;
  const double below = level - (most + FError(most));
  const double distance =
      std::min(std::isinf(least) ? kInfinity : above, std::isinf(most) ? kInfinity : below);
  if (std::isinf(distance)) return kInfinity;
  return std::max(0.0, (distance - level_error) * (1 - 0x1p-40));
}

// Correctly rounded kernel values of `group` with `others`.
void ActiveSet::ComputeKernels(uint32_t group, const std::vector<uint32_t>& others,
                               std::vector<double>* out) {
  keys_.resize(others.size());
  out->resize(others.size());
  for (size_t i = 0; i < others.size(); ++i) keys_[i] = table_.Key(others[i]);
  ExactKernels(table_.Key(group), keys_.data(), others.size(), d_, gamma_, out->data());
}

const double* ActiveSet::MarginKernels(uint32_t group) {
  ComputeKernels(group, system_.groups(), &kernels_);
  return kernels_.data();
}

DoubleDouble ActiveSet::ErrorSum(uint32_t group) {
  ComputeKernels(group, error_, &error_kernels_);
  DoubleDouble sum;
  for (size_t i = 0; i < error_.size(); ++i) {
    sum = sum + TwoProd(error_kernels_[i], table_.Count(error_[i]));
  }
  return sum;
}

DoubleDouble ActiveSet::OtherErrorSum(uint32_t group, double* error) {
  ComputeKernels(group, error_, &error_kernels_);
  DoubleDouble sum;
  bool exact = true;
  for (size_t i = 0; i < error_.size(); ++i) {
    if (error_[i] == group) continue;
    const double value = error_kernels_[i];
    exact = exact && (value == 0 || value == 1);
    sum = sum + TwoProd(value, table_.Count(error_[i]));
  }
  const auto terms = static_cast<double>(error_.size()) + 1;
  *error = exact ? 0 : terms * (sum.hi * kDoubleDoubleError + 0x1p-1070) * (1 + 0x1p-30);
  return sum;
}

size_t ActiveSet::MemberIndex(uint32_t group) const {
  const std::vector<uint32_t>& groups = system_.groups();
  return static_cast<size_t>(std::find(groups.begin(), groups.end(), group) - groups.begin());
}

void ActiveSet::SetClass(uint32_t group, TokenClass to) {
  classes_[group] = to;
  sign_[group] = to == TokenClass::kReserve ? 1 : to == TokenClass::kError ? -1 : 0;
  if (to == TokenClass::kReserve) weights_[group] = 0;
  if (to == TokenClass::kError) weights_[group] = box_dd_.hi;
  ++counters_.set_changes;
}

void ActiveSet::AddToErrorRows(uint32_t group, double count) {
  if (!rows_.Has(group)) rows_.Ensure({&group, 1});
  dense::AddRow(rows_.row(group), count, table_.capacity(), error_rows_.data());
  error_rows_rounding_ += 0x1p-52 * (static_cast<double>(error_tokens_) + std::fabs(count) + 1);
  if (rows_.size() > system_.size() + kErrorRows + 2 * kSpareRows) TrimRows();
  if (box_dd_.hi * error_rows_rounding_ > 0x1p-36) RebuildErrorRows();
}

void ActiveSet::TrimRows() { rows_.Trim(system_.size() + std::min(error_.size(), kErrorRows) + kSpareRows); }

void ActiveSet::RebuildErrorRows() {
  std::fill(error_rows_.begin(), error_rows_.end(), 0.0);
  error_rows_rounding_ = 0;
  for (const uint32_t group : error_) {
    rows_.Ensure({&group, 1});
    TrimRows();
    dense::AddRow(rows_.row(group), table_.Count(group), table_.capacity(), error_rows_.data());
    error_rows_rounding_ += 0x1p-52 * static_cast<double>(error_tokens_ + 1);
  }
}

// All sums over E follow `count` tokens of a group into E, or out of it. `kernels`: with all members of S.
void ActiveSet::ShiftError(uint32_t group, const double* kernels, int64_t count) {
  error_tokens_ += static_cast<uint64_t>(count);  // modulo 2^64: also where it is negative
  AddToErrorRows(group, static_cast<double>(count));
  system_.MoveErrorSums(kernels, static_cast<double>(count));
  system_.SetBox(box_dd_, error_tokens_);
}

void ActiveSet::JoinError(uint32_t group, const double* kernels) {
  SetClass(group, TokenClass::kError);
  error_.push_back(group);
  ShiftError(group, kernels, table_.Count(group));
}

void ActiveSet::LeaveError(uint32_t group, const double* kernels) {
  error_.erase(std::find(error_.begin(), error_.end(), group));
  ShiftError(group, kernels, -int64_t{table_.Count(group)});
}

void ActiveSet::LeaveMargin(size_t k, TokenClass to) {
  const uint32_t group = system_.groups()[k];
  if (to == TokenClass::kError) {
    const double* column = system_.Kernel(k);
    kernels_.assign(column, column + system_.size());
    kernels_.erase(kernels_.begin() + static_cast<ptrdiff_t>(k));
  }
  system_.Remove(k);
  if (to == TokenClass::kError) {
    JoinError(group, kernels_.data());
  } else {
    SetClass(group, to);
  }
  if (system_.empty()) system_.Clear();
}

void ActiveSet::Move(uint32_t group, TokenClass to) {
  const TokenClass from = classes_[group];
  if (from == to) return;
  if (to == TokenClass::kMargin) return Enter({&group, 1});
  if (from == TokenClass::kMargin) return LeaveMargin(MemberIndex(group), to);
  const double* kernels = MarginKernels(group);
  if (from == TokenClass::kError) {
    LeaveError(group, kernels);
    SetClass(group, to);
  } else {
    JoinError(group, kernels);
  }
}

void ActiveSet::Enter(absl::Span<const uint32_t> groups) {
  rows_.Ensure(groups);
  for (const uint32_t group : groups) {
    const double* kernels = MarginKernels(group);
    const double weight = weights_[group];
    if (classes_[group] == TokenClass::kError) LeaveError(group, kernels);
    const DoubleDouble e = ErrorSum(group);
    SetClass(group, TokenClass::kMargin);
    system_.Append(group, table_.Count(group), kernels, e, weight);
  }
}

void ActiveSet::Adopt(const std::vector<TokenClass>& classes, const std::vector<double>& weights) {
  system_.Clear();
  error_.clear();
  error_tokens_ = 0;
  entering_.clear();
  for (uint32_t group = 0; group < classes_.size(); ++group) {
    if (table_.Count(group) == 0) continue;
    SetClass(group, classes[group] == TokenClass::kMargin ? TokenClass::kReserve : classes[group]);
    if (classes[group] == TokenClass::kMargin) entering_.push_back(group);
    if (classes[group] != TokenClass::kError) continue;
    error_.push_back(group);
    error_tokens_ += table_.Count(group);
  }
  RebuildErrorRows();
  system_.SetBox(box_dd_, error_tokens_);
  uint64_t margin_tokens = 0;
  for (const uint32_t group : entering_) margin_tokens += table_.Count(group);
  const double rest = 1 - box_dd_.hi * static_cast<double>(error_tokens_);
  const double mean = std::clamp(rest / static_cast<double>(margin_tokens), 0.0, box_dd_.hi);
  for (const uint32_t group : entering_) {
    weights_[group] = weights.empty() ? mean : std::clamp(weights[group], 0.0, box_dd_.hi);
  }
  Enter(entering_);
}

uint64_t ActiveSet::ByteSize() const {
  const uint64_t per_group = sizeof(TokenClass) + 4 * sizeof(double);
  return rows_.ByteSize() + system_.ByteSize() + classes_.capacity() * per_group;
}

}  // namespace expunge::solver
