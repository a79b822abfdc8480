// The path of the active-set method: how it gets from where it is to an optimum.
#include <algorithm>
#include <cmath>

#include "solver/active_set.h"
#include "solver/dense.h"

namespace expunge::solver {
namespace {

constexpr size_t kEntries = 4;            // violators that enter together
constexpr size_t kCandidates = 64;        // groups that are asked before a pass, about
constexpr size_t kCandidatesFrom = 4096;  // in memories of so many groups: in smaller ones a pass is cheap

}  // namespace

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
    if (StepToBound() || EnterCandidates()) continue;
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
  TrimRows();
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

// Lets the worst violators in, and remembers which groups come near to it, about kCandidates of them. False
// if none violates beyond the error of f.
bool ActiveSet::EnterViolators() {
  const double level = system_.h().hi;
  const double constant = FError(0) + std::fabs(level) * 0x1p-40;
  violators_.clear();
  candidates_.clear();
  size_t nearly = 0;
  for (uint32_t j = 0; j < sign_.size(); ++j) {
    const double violation = sign_[j] * (level - f_[j]);
    if (sign_[j] == 0 || !(violation > -candidate_distance_)) continue;
    if (++nearly <= 2 * kCandidates) candidates_.push_back(j);
    if (violation > constant + FError(f_[j])) violators_.emplace_back(-violation, j);
  }
  if (nearly > kCandidates) candidate_distance_ *= 0.75;
  if (nearly < kCandidates / 2) candidate_distance_ = std::max(candidate_distance_ * 1.5, 0x1p-20 * level);
  return EnterFew();
}

// The same for the candidates of the last pass alone, which needs no pass: violators are often among them.
bool ActiveSet::EnterCandidates() {
  if (table_.capacity() < kCandidatesFrom || Careful()) return false;
  const double level = system_.h().hi;
  const double constant = FError(0) + std::fabs(level) * 0x1p-40;
  rows_.Ensure(system_.groups());
  violators_.clear();
  for (const uint32_t j : candidates_) {
    if (sign_[j] == 0) continue;
    const double f = EvaluateF(j);
    const double violation = sign_[j] * (level - f);
    if (violation > constant + FError(f)) violators_.emplace_back(-violation, j);
  }
  return EnterFew();
}

// Steps of length zero come in a row: one violator at a time then, the first in order (Bland).
bool ActiveSet::Careful() const { return stalled_ > 20 + system_.size(); }

bool ActiveSet::EnterFew() {
  if (violators_.empty()) return false;
  if (Careful()) {
    Enter({&violators_.front().second, 1});
  } else {
    EnterWorst(kEntries, &violators_);
  }
  return true;
}

void ActiveSet::EnterWorst(size_t most, std::vector<Violator>* violators) {
  const size_t entries = std::min(most, violators->size());
  std::partial_sort(violators->begin(), violators->begin() + static_cast<ptrdiff_t>(entries),
                    violators->end());
  entering_.clear();
  for (size_t k = 0; k < entries; ++k) entering_.push_back((*violators)[k].second);
  Enter(entering_);
}

}  // namespace expunge::solver
