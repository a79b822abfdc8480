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
constexpr size_t kEntries = 4;      // violators that enter together
constexpr size_t kSpareRows = 64;   // rows kept of groups that left S
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
  if (single_point) {
    fmpz_one(box_.numerator());
    fmpz_set_ui(box_.denominator(), std::max<uint64_t>(tokens, 1));
    box_dd_ = ToDoubleDouble(box_);
  } else if (single_point_) {
    box_ = c_;
    box_dd_ = c_dd_;
  }
  single_point_ = single_point;
  for (const uint32_t group : error_) weights_[group] = box_dd_.hi;
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
  const double change = static_cast<double>(table_.Count(group)) - before;
  if (token_class == TokenClass::kError) {
    AddToErrorRows(group, change);
    system_.MoveErrorSums(MarginKernels(group), change);
    error_tokens_ = static_cast<uint64_t>(static_cast<double>(error_tokens_) + change);
    system_.SetBox(box_dd_, error_tokens_);
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

double ActiveSet::ReserveMargin(uint32_t group) {
  if (system_.empty()) return 0;
  double sum = error_rows_[group] * box_dd_.hi;
  for (size_t k = 0; k < system_.size(); ++k) {
    sum += system_.Count(k) * system_.Weight(k) * static_cast<double>(rows_.row(system_.groups()[k])[group]);
  }
  f_[group] = sum;
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

const double* ActiveSet::MarginKernels(uint32_t group) {
  const size_t m = system_.size();
  keys_.resize(m);
  kernels_.resize(m);
  for (size_t k = 0; k < m; ++k) keys_[k] = table_.Key(system_.groups()[k]);
  ExactKernels(table_.Key(group), keys_.data(), m, d_, gamma_, kernels_.data());
  return kernels_.data();
}

DoubleDouble ActiveSet::ErrorSum(uint32_t group) {
  keys_.resize(error_.size());
  error_kernels_.resize(error_.size());
  for (size_t i = 0; i < error_.size(); ++i) keys_[i] = table_.Key(error_[i]);
  ExactKernels(table_.Key(group), keys_.data(), error_.size(), d_, gamma_, error_kernels_.data());
  DoubleDouble sum;
  for (size_t i = 0; i < error_.size(); ++i) {
    sum = sum + TwoProd(error_kernels_[i], table_.Count(error_[i]));
  }
  return sum;
}

DoubleDouble ActiveSet::OtherErrorSum(uint32_t group, double* error) {
  static_cast<void>(ErrorSum(group));  // for the values
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
  if (rows_.size() > system_.size() + kErrorRows + 2 * kSpareRows)
    rows_.Trim(system_.size() + kErrorRows + kSpareRows);
  if (box_dd_.hi * error_rows_rounding_ > 0x1p-36) RebuildErrorRows();
}

void ActiveSet::RebuildErrorRows() {
  std::fill(error_rows_.begin(), error_rows_.end(), 0.0);
  error_rows_rounding_ = 0;
  for (const uint32_t group : error_) {
    rows_.Ensure({&group, 1});
    rows_.Trim(system_.size() + kErrorRows + kSpareRows);
    dense::AddRow(rows_.row(group), table_.Count(group), table_.capacity(), error_rows_.data());
    error_rows_rounding_ += 0x1p-52 * static_cast<double>(error_tokens_ + 1);
  }
}

// `kernels`: with all members of S, as for LeaveError.
void ActiveSet::JoinError(uint32_t group, const double* kernels) {
  const uint32_t count = table_.Count(group);
  SetClass(group, TokenClass::kError);
  error_.push_back(group);
  error_tokens_ += count;
  AddToErrorRows(group, count);
  system_.MoveErrorSums(kernels, count);
  system_.SetBox(box_dd_, error_tokens_);
}

void ActiveSet::LeaveError(uint32_t group, const double* kernels) {
  const uint32_t count = table_.Count(group);
  error_.erase(std::find(error_.begin(), error_.end(), group));
  error_tokens_ -= count;
  AddToErrorRows(group, -static_cast<double>(count));
  system_.MoveErrorSums(kernels, -static_cast<double>(count));
  system_.SetBox(box_dd_, error_tokens_);
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

ActiveSet::Outcome ActiveSet::Optimise(uint64_t limit) {
  const uint64_t end = counters_.set_changes + limit;
  stalled_ = 0;
  if (single_point_) {
    for (uint32_t group = 0; group < classes_.size(); ++group) {
      if (table_.Count(group) > 0) Move(group, TokenClass::kError);
    }
  }
  while (counters_.set_changes <= end) {
    if (system_.empty()) {
      Pass();
      if (!StepAtVertex()) return Outcome::kVertex;
      continue;
    }
    if (!SolveTarget()) return Outcome::kLimit;
    if (StepToBound()) continue;
    Pass();
    if (!EnterViolators()) return Outcome::kSupport;
  }
  return Outcome::kLimit;
}

ActiveSet::Extremes ActiveSet::FindExtremes() const {
  Extremes extremes;
  for (uint32_t j = 0; j < sign_.size(); ++j) {
    if (sign_[j] < 0 && (extremes.error_max < 0 || f_[j] > f_[static_cast<size_t>(extremes.error_max)]))
      extremes.error_max = j;
    if (sign_[j] > 0 && (extremes.reserve_min < 0 || f_[j] < f_[static_cast<size_t>(extremes.reserve_min)]))
      extremes.reserve_min = j;
  }
  return extremes;
}

// S is empty: the mass is made right first, then the pair that descends enters. False if there is none.
bool ActiveSet::StepAtVertex() {
  const Extremes extremes = FindExtremes();
  const auto high = static_cast<uint32_t>(extremes.error_max);
  const auto low = static_cast<uint32_t>(extremes.reserve_min);
  const bool full = single_point_ || (error_tokens_ == whole_ && whole_fits_);
  entering_.clear();
  if (!full && error_tokens_ <= whole_) {
    entering_.push_back(low);
  } else if (!full) {
    entering_.push_back(high);
  } else {
    if (extremes.error_max < 0 || extremes.reserve_min < 0) return false;
    if (f_[high] - f_[low] <= FError(f_[high]) + FError(f_[low])) return false;
    entering_ = {high, low};
  }
  Enter(entering_);
  return true;
}

// The weights that solve (B), in the system: as accurate as the ratio test needs. False if the factor is no
// longer one of M.
bool ActiveSet::SolveTarget() {
  ++counters_.iterations;
  if (system_.NeedsFreshErrorSums()) RefreshErrorSums();
  for (int round = 0; round < 4; ++round) {
    const double step = system_.Improve();
    if (!std::isfinite(step)) return false;
    double closest = box_dd_.hi;
    for (size_t k = 0; k < system_.size(); ++k) {
      closest = std::min({closest, std::fabs(system_.Weight(k)), std::fabs(system_.Room(k))});
    }
    // A step leaves an error of about 1e-16 times the condition, itself at most |S| / ridge, of it.
    if (step * 0x1p-20 < closest) break;
  }
  return true;
}

void ActiveSet::RefreshErrorSums() {
  for (size_t k = 0; k < system_.size(); ++k) {
    system_.SetErrorSum(k, ErrorSum(system_.groups()[k]), error_.size() + 1);
  }
  system_.ErrorSumsAreFresh();
}

// Moves the weights towards the target until the first of them meets a bound; those that do change class.
// False if the target was reached.
bool ActiveSet::StepToBound() {
  const double box = box_dd_.hi;
  const size_t m = system_.size();
  reach_.assign(m, 2.0);
  double step = 2;
  for (size_t k = 0; k < m; ++k) {
    const double weight = weights_[system_.groups()[k]];
    const double target = system_.Weight(k);
    if (target <= 0) reach_[k] = weight > target ? weight / (weight - target) : 0;
    if (system_.Room(k) <= 0) reach_[k] = target > weight ? (box - weight) / (target - weight) : 0;
    reach_[k] = std::max(reach_[k], 0.0);
    step = std::min(step, reach_[k]);
  }
  for (size_t k = 0; k < m; ++k) {
    double& weight = weights_[system_.groups()[k]];
    weight = std::clamp(weight + std::min(step, 1.0) * (system_.Weight(k) - weight), 0.0, box);
  }
  if (step > 1) return false;
  stalled_ = step > 0 ? 0 : stalled_ + 1;
  for (size_t k = m; k-- > 0;) {
    if (reach_[k] <= step) LeaveMargin(k, system_.Weight(k) <= 0 ? TokenClass::kReserve : TokenClass::kError);
  }
  return true;
}

// f = C_n e + sum over S of mu_i K_i, for all groups.
void ActiveSet::Pass() {
  ++counters_.full_passes;
  rows_.Ensure(system_.groups());
  rows_.Trim(system_.size() + std::min(error_.size(), kErrorRows) + kSpareRows);
  const size_t m = system_.size();
  row_pointers_.resize(m);
  pass_masses_.resize(m);
  row_weights_.resize(m);
  movement_ = 0;
  for (size_t k = 0; k < m; ++k) {
    row_pointers_[k] = rows_.row(system_.groups()[k]);
    pass_masses_[k] = system_.Count(k) * system_.Weight(k);
    row_weights_[k] = static_cast<float>(pass_masses_[k]);
  }
  dense::AccumulateRows(row_pointers_.data(), row_weights_.data(), m, error_rows_.data(), box_dd_.hi,
                        table_.capacity(), f_.data());
  for (const uint32_t group : error_) f_[group] += ridge_ * box_dd_.hi;
}

// Lets the worst violators in: a few together, but one at a time, in order, once steps of length zero come in
// a row (Bland). False if none violates beyond the error of f.
bool ActiveSet::EnterViolators() {
  const double level = system_.h().hi;
  const double constant = FError(0) + std::fabs(level) * 0x1p-40;
  violators_.clear();
  for (uint32_t j = 0; j < sign_.size(); ++j) {
    const double violation = sign_[j] * (level - f_[j]);
    if (violation > constant && violation > FError(f_[j]) + constant) violators_.emplace_back(-violation, j);
  }
  if (violators_.empty()) return false;
  const bool careful = stalled_ > 20 + system_.size();
  const size_t entries = careful ? 1 : std::min(kEntries, violators_.size());
  if (!careful) {
    std::partial_sort(violators_.begin(), violators_.begin() + static_cast<ptrdiff_t>(entries),
                      violators_.end());
  }
  entering_.clear();
  for (size_t k = 0; k < entries; ++k) entering_.push_back(violators_[k].second);
  Enter(entering_);
  return true;
}

uint64_t ActiveSet::ByteSize() const {
  const uint64_t per_group = sizeof(TokenClass) + 4 * sizeof(double);
  return rows_.ByteSize() + system_.ByteSize() + classes_.capacity() * per_group;
}

}  // namespace expunge::solver
