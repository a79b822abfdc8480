#include "solver/proposal.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

namespace expunge::solver {
namespace {

constexpr double kSmoTolerance = 1e-6;  // of the largest KKT violation
constexpr double kActiveTolerance = 1e-13;
constexpr int kPatience = 5;
constexpr int kBoldSteps = 200;  // of the primal method, before it drops strictly one token at a time

// Weights are those of whole groups: w = Count a, with 0 <= w <= Count C_n and H = K + diag(ridge / Count).
class Proposer {
 public:
  explicit Proposer(Problem* problem)
      : problem_(*problem), n_(problem->n()), weights_(n_, 0.0), gradient_(n_, 0.0) {
    for (uint32_t i = 0; i < n_; ++i) {
      boxes_.push_back(problem->box_dd().hi * problem->Count(i));
      ridges_.push_back(problem->ridge() / problem->Count(i));
    }
  }

  RoughOptimum RunRoughly() {
    FillBox();
    Optimise();
    StartActiveSet();
    for (uint32_t i = 0; i < n_; ++i) weights_[i] /= problem_.Count(i);
    return {partition_.classes, weights_};
  }

  Partition Run() {
    FillBox();
    Optimise();
    start_weights_ = weights_;
    StartActiveSet();
    const size_t limit = 4 * n_ + 1000;
    for (size_t round = 0; round < limit && Step(); ++round) {
    }
    return partition_;
  }

 private:
  // The box for the first groups, the rest for one more; gradient_ = Ha.
  void FillBox() {
    double rest = 1;
    for (uint32_t i = 0; i < n_ && rest > 0; ++i) {
      weights_[i] = std::min(rest, boxes_[i]);
      rest -= weights_[i];
      AddRow(i, weights_[i], &gradient_);
    }
  }

  // target += weight * H_i.
  void AddRow(uint32_t i, double weight, std::vector<double>* target) {
    const double* row = problem_.ApproxRow(i);
    double* out = target->data();
    for (size_t j = 0; j < n_; ++j) out[j] += weight * row[j];
    out[i] += weight * ridges_[i];
  }

  // Moves weight between pairs until no pair gains much.
  void Optimise() {
    const size_t limit = std::max<size_t>(10 * n_, 2000);
    for (size_t step = 0; step < limit; ++step) {
      uint32_t up = 0;  // the receiver: smallest gradient with room
      double least = std::numeric_limits<double>::infinity();
      for (uint32_t i = 0; i < n_; ++i) {
        if (weights_[i] < boxes_[i] && gradient_[i] < least) {
          least = gradient_[i];
          up = i;
        }
      }
      if (std::isinf(least)) return;
      const double* row = problem_.ApproxRow(up);
      uint32_t down = up;
      double best = 0;
      double worst = 0;
      for (uint32_t j = 0; j < n_; ++j) {
        const double difference = gradient_[j] - least;
        if (!(weights_[j] > 0) || !(difference > 0)) continue;
        worst = std::max(worst, difference);
        const double gain = difference * difference / (2 + ridges_[up] + ridges_[j] - 2 * row[j]);
        if (gain > best) {
          best = gain;
          down = j;
        }
      }
      if (worst < kSmoTolerance) return;
      MovePair(up, down, (gradient_[down] - least) / (2 + ridges_[up] + ridges_[down] - 2 * row[down]));
    }
  }

  void MovePair(uint32_t up, uint32_t down, double step) {
    step = std::min(step, std::min(boxes_[up] - weights_[up], weights_[down]));
    const bool full = step == boxes_[up] - weights_[up];
    const bool empty = step == weights_[down];
    weights_[up] = full ? boxes_[up] : weights_[up] + step;
    weights_[down] = empty ? 0.0 : weights_[down] - step;
    AddRow(up, step, &gradient_);
    AddRow(down, -step, &gradient_);
  }

  void StartActiveSet() {
    partition_.classes.assign(n_, TokenClass::kReserve);
    error_part_.assign(n_, 0.0);
    for (uint32_t i = 0; i < n_; ++i) {
      if (weights_[i] >= boxes_[i] * (1 - 1e-9)) {
        SetClass(i, TokenClass::kError);
      } else if (weights_[i] > boxes_[i] * 1e-9) {
        SetClass(i, TokenClass::kMargin);
      } else {
        weights_[i] = 0;
      }
    }
    partition_.RefreshLists();
  }

  // Also keeps weights at their bounds and error_part_ = C_n * sum of H_e over E.
  void SetClass(uint32_t i, TokenClass to) {
    TokenClass& from = partition_.classes[i];
    if (from == to) return;
    if (from == TokenClass::kError) AddRow(i, -boxes_[i], &error_part_);
    if (to == TokenClass::kError) AddRow(i, boxes_[i], &error_part_);
    if (to == TokenClass::kError) weights_[i] = boxes_[i];
    if (to == TokenClass::kReserve) weights_[i] = 0;
    from = to;
  }

  // One change of the working set; false when there is none left to make.
  bool Step() {
    if (partition_.margin.empty()) return EnterViolators(std::numeric_limits<double>::quiet_NaN(), 1);
    double h = 0;
    if (!SolveMargin(&h)) return false;
    if (block_) return ExchangeAll(h);
    if (StepToFirstBlock()) return true;
    TakeTargets();
    return EnterViolators(h, stalled_ == 0 ? std::max<size_t>(4, partition_.margin.size() / 16) : 1);
  }

  void TakeTargets() {
    for (size_t k = 0; k < partition_.margin.size(); ++k) {
      weights_[partition_.margin[k]] = target_[static_cast<Eigen::Index>(k)];
    }
  }

  // Block principal pivoting (Kim and Park, SIAM J. Sci. Comput. 33, 2011): all tokens on the wrong side
  // change at once, while that lowers their number or for a few rounds more; then the primal method starts
  // afresh. False if none is on the wrong side.
  bool ExchangeAll(double h) {
    size_t wrong = 0;
    for (size_t k = 0; k < partition_.margin.size(); ++k) {
      const double target = target_[static_cast<Eigen::Index>(k)];
      wrong += target > 0 && target < boxes_[partition_.margin[k]] ? 0 : 1;
    }
    TakeTargets();
    const std::vector<std::pair<double, uint32_t>> violators = Violators(h);
    wrong += violators.size();
    if (wrong == 0) return false;
    if (wrong < fewest_wrong_) {
      fewest_wrong_ = wrong;
      patience_ = kPatience;
    } else if (--patience_ < 0) {
      block_ = false;
      weights_ = start_weights_;  // feasible, unlike the last targets
      StartActiveSet();
      return true;
    }
    DropAllBlocked();
    for (const auto& [violation, j] : violators) SetClass(j, TokenClass::kMargin);
    partition_.RefreshLists();
    return true;
  }

  // target_ = the margin weights that solve (B); h.
  bool SolveMargin(double* h) {
    const std::vector<uint32_t>& margin = partition_.margin;
    const auto m = static_cast<Eigen::Index>(margin.size());
    Eigen::MatrixXd matrix(m, m);
    Eigen::VectorXd rhs(m);
    for (Eigen::Index i = 0; i < m; ++i) {
      const double* row = problem_.ApproxRow(margin[static_cast<size_t>(i)]);
      for (Eigen::Index j = 0; j < m; ++j) matrix(j, i) = row[margin[static_cast<size_t>(j)]];
      matrix(i, i) = 1 + ridges_[margin[static_cast<size_t>(i)]];
      rhs[i] = -error_part_[margin[static_cast<size_t>(i)]];
    }
    const Eigen::LLT<Eigen::MatrixXd> factor(matrix);
    if (factor.info() != Eigen::Success) return false;
    double mass = 1;
    for (const uint32_t e : partition_.error) mass -= boxes_[e];
    const Eigen::VectorXd u = factor.solve(Eigen::VectorXd::Ones(m));
    target_ = Eigen::VectorXd::Zero(m);
    *h = 0;
    for (int refinement = 0; refinement < 3; ++refinement) {
      const Eigen::VectorXd residual = (rhs - matrix * target_).array() + *h;
      const Eigen::VectorXd step = factor.solve(residual);
      const double delta = (mass - target_.sum() - step.sum()) / u.sum();
      target_ += step + delta * u;
      *h += delta;
    }
    return true;
  }

  // Puts the margin tokens whose target is not inside the box at the bound that it is beyond.
  void DropAllBlocked() {
    const std::vector<uint32_t> margin = partition_.margin;
    for (size_t k = 0; k < margin.size(); ++k) {
      const double target = target_[static_cast<Eigen::Index>(k)];
      if (target > 0 && target < boxes_[margin[k]]) continue;
      SetClass(margin[k], target <= 0 ? TokenClass::kReserve : TokenClass::kError);
    }
  }

  // Moves the margin weights towards the target until the first of them, or the first few, meet a bound.
  bool StepToFirstBlock() {
    const std::vector<uint32_t> margin = partition_.margin;
    std::vector<double> reach(margin.size(), 2.0);
    for (size_t k = 0; k < margin.size(); ++k) {
      const double weight = weights_[margin[k]];
      const double target = target_[static_cast<Eigen::Index>(k)];
      if (target <= 0) reach[k] = weight > target ? weight / (weight - target) : 0;
      if (target >= boxes_[margin[k]])
        reach[k] = target > weight ? (boxes_[margin[k]] - weight) / (target - weight) : 0;
      reach[k] = std::max(reach[k], 0.0);
    }
    // Not only the first: a few that come next do little harm, and save as many factorisations.
    std::vector<double> sorted = reach;
    const size_t rank = ++steps_ <= kBoldSteps ? margin.size() / 64 : 0;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(rank), sorted.end());
    if (*std::min_element(reach.begin(), reach.end()) > 1) return false;
    const double step = std::min(1.0, sorted[rank]);
    for (size_t k = 0; k < margin.size(); ++k) {
      const double target = target_[static_cast<Eigen::Index>(k)];
      double& weight = weights_[margin[k]];
      weight = std::clamp(weight + step * (target - weight), 0.0, boxes_[margin[k]]);
      if (reach[k] <= step) SetClass(margin[k], target <= 0 ? TokenClass::kReserve : TokenClass::kError);
    }
    stalled_ = step > 0 ? 0 : stalled_ + 1;
    partition_.RefreshLists();
    return stalled_ < 64;
  }

  // gradient_ = Ha.
  void RefreshGradient() {
    gradient_ = error_part_;
    for (const uint32_t i : partition_.margin) AddRow(i, weights_[i], &gradient_);
  }

  // Tokens outside S that violate the KKT conditions, with the negative of their violation.
  std::vector<std::pair<double, uint32_t>> Violators(double h) {
    RefreshGradient();
    std::vector<std::pair<double, uint32_t>> violators;
    for (uint32_t j = 0; j < n_; ++j) {
      if (partition_.classes[j] == TokenClass::kMargin) continue;
      const double slack = gradient_[j] - h;
      const double violation = partition_.classes[j] == TokenClass::kReserve ? -slack : slack;
      if (violation > kActiveTolerance) violators.emplace_back(-violation, j);
    }
    return violators;
  }

  // Lets the worst tokens outside S enter it; false if none violates the KKT conditions. h = NaN: S is empty,
  // and the worst pair enters.
  bool EnterViolators(double h, size_t entries) {
    if (std::isnan(h)) {
      RefreshGradient();
      return EnterPair();
    }
    std::vector<std::pair<double, uint32_t>> violators = Violators(h);
    if (violators.empty()) return false;
    entries = std::min(entries, violators.size());
    std::partial_sort(violators.begin(), violators.begin() + static_cast<ptrdiff_t>(entries),
                      violators.end());
    for (size_t k = 0; k < entries; ++k) SetClass(violators[k].second, TokenClass::kMargin);
    partition_.RefreshLists();
    return true;
  }

  bool EnterPair() {
    constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
    uint32_t high = kNone;
    uint32_t low = kNone;
    for (uint32_t j = 0; j < n_; ++j) {
      const bool in_error = partition_.classes[j] == TokenClass::kError;
      if (in_error && (high == kNone || gradient_[j] > gradient_[high])) high = j;
      if (!in_error && (low == kNone || gradient_[j] < gradient_[low])) low = j;
    }
    if (high == kNone || low == kNone || gradient_[high] - gradient_[low] <= kActiveTolerance) return false;
    SetClass(high, TokenClass::kMargin);
    SetClass(low, TokenClass::kMargin);
    partition_.RefreshLists();
    return true;
  }

  Problem& problem_;
  size_t n_;
  std::vector<double> boxes_;
  std::vector<double> ridges_;
  std::vector<double> weights_;
  std::vector<double> start_weights_;  // those of Optimise: feasible
  std::vector<double> gradient_;       // Ha
  std::vector<double> error_part_;     // C_n * sum of H_e over E
  Partition partition_;
  Eigen::VectorXd target_;
  bool block_ = true;  // ExchangeAll still makes progress
  size_t fewest_wrong_ = std::numeric_limits<size_t>::max();
  int patience_ = kPatience;
  int steps_ = 0;    // of the primal method
  int stalled_ = 0;  // steps of length zero in a row
};

}  // namespace

RoughOptimum FindRoughOptimum(Problem* problem) { return Proposer(problem).RunRoughly(); }

Partition ProposePartition(Problem* problem) { return Proposer(problem).Run(); }

}  // namespace expunge::solver
