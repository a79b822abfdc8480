#include "solver/margin_system.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "solver/dense.h"
#include "solver/verified_bounds.h"

namespace expunge::solver {
namespace {

// Covers the rounding of the bounds' own evaluation: fewer than 2^20 operations, each 2^-53.
constexpr double kOutward = 1 + 0x1p-30;
// Covers products whose error terms fall below the range of a double, for any number of terms in use.
constexpr double kUnderflow = 0x1p-940;
constexpr double kRoundoffSquared = 0x1p-106;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kMaxRounds = 12;

// What is cut off stays in the memory of the vector: as zeros. Plain stores just before the end of an
// element's life would be left out by compilers.
void Shrink(std::vector<double>* x, size_t size) {
  volatile double* elements = x->data();
  for (size_t k = size; k < x->size(); ++k) elements[k] = 0;
  x->resize(size);
}

void Erase(std::vector<double>* x, size_t k) {
  std::copy(x->begin() + static_cast<ptrdiff_t>(k) + 1, x->end(), x->begin() + static_cast<ptrdiff_t>(k));
  Shrink(x, x->size() - 1);
}

}  // namespace

uint64_t MarginSystem::ByteSize() const { return (2 * stride_ * stride_ + 14 * stride_) * sizeof(double); }

void MarginSystem::Reserve(size_t size) {
  if (size <= stride_) return;
  const size_t stride = std::max<size_t>(size + size / 2 + 16, 32);
  const size_t m = groups_.size();
  for (std::vector<double>* matrix : {&kernel_, &factor_}) {
    std::vector<double> larger(stride * stride);
    for (size_t j = 0; j < m; ++j) {
      std::copy_n(matrix->data() + j * stride_, m, larger.data() + j * stride);
    }
    *matrix = std::move(larger);
  }
  stride_ = stride;
  groups_.reserve(stride);
  for (std::vector<double>* x : {&counts_, &e_hi_, &e_lo_, &e_error_, &a_hi_, &a_lo_}) x->reserve(stride);
  for (std::vector<double>* x :
       {&ones_, &mu_hi_, &mu_lo_, &r_hi_, &r_lo_, &r_upper_, &work_, &weight_error_}) {
    x->resize(stride);
  }
}

void MarginSystem::Append(uint32_t group, uint32_t count, const double* kernel, DoubleDouble e,
                          double weight) {
  Reserve(size() + 1);
  const size_t m = size();
  double* column = Column(&kernel_, m);
  for (size_t k = 0; k < m; ++k) {
    column[k] = kernel[k];
    Column(&kernel_, k)[m] = kernel[k];
    work_[k] = kernel[k];
  }
  column[m] = 1;
  groups_.push_back(group);
  counts_.push_back(count);
  e_hi_.push_back(e.hi);
  e_lo_.push_back(e.lo);
  a_hi_.push_back(weight);
  a_lo_.push_back(0);
  e_error_.push_back(e.hi * (error_tokens_ + 1));
  ones_fresh_ = false;
  lambda_ = 0;

  dense::SolveLower(factor_.data(), stride_, m, work_.data());
  double square = 1 + ridge_ / count;
  for (size_t k = 0; k < m; ++k) {
    Column(&factor_, k)[m] = work_[k];
    square -= work_[k] * work_[k];
  }
  Column(&factor_, m)[m] = std::sqrt(square);
  // The Schur complement is at least the smallest eigenvalue of M; less is rounding.
  if (!(square >= 0.5 * ridge_ / count)) Refactor();
}

void MarginSystem::Remove(size_t k) {
  const size_t m = size();
  dense::RemoveFromFactor(factor_.data(), stride_, m, k, work_.data());
  dense::RemoveFromMatrix(kernel_.data(), stride_, m, k);
  groups_.erase(groups_.begin() + static_cast<ptrdiff_t>(k));
  for (std::vector<double>* x : {&counts_, &e_hi_, &e_lo_, &e_error_, &a_hi_, &a_lo_}) Erase(x, k);
  Wipe(m - 1);
  ones_fresh_ = false;
}

void MarginSystem::Clear() {
  while (!groups_.empty()) {
    groups_.pop_back();
    Wipe(groups_.size());
  }
  for (std::vector<double>* x : {&counts_, &e_hi_, &e_lo_, &e_error_, &a_hi_, &a_lo_}) Shrink(x, 0);
  e_changes_ = 0;
  h_ = {};
  ones_fresh_ = false;
}

// Nothing stays behind of a row that is gone: it may be that of a token that is.
void MarginSystem::Wipe(size_t k) {
  for (std::vector<double>* matrix : {&kernel_, &factor_}) {
    std::fill_n(Column(matrix, k), k + 1, 0.0);
    for (size_t j = 0; j < k; ++j) Column(matrix, j)[k] = 0;
  }
  for (std::vector<double>* x :
       {&ones_, &mu_hi_, &mu_lo_, &r_hi_, &r_lo_, &r_upper_, &work_, &weight_error_}) {
    (*x)[k] = 0;
  }
}

// A fresh factorisation; where even that meets a pivot that is not positive, one of the least size it can
// have.
void MarginSystem::Refactor() {
  const size_t m = size();
  for (size_t j = 0; j < m; ++j) {
    double* column = Column(&factor_, j);
    std::copy_n(Column(&kernel_, j) + j, m - j, column + j);
    column[j] = 1 + ridge_ / counts_[j];
    for (size_t p = 0; p < j; ++p) {
      const double* left = Column(&factor_, p);
      for (size_t i = j; i < m; ++i) column[i] -= left[j] * left[i];
    }
    const double pivot = std::sqrt(std::max(column[j], 0.5 * ridge_ / counts_[j]));
    column[j] = pivot;
    for (size_t i = j + 1; i < m; ++i) column[i] /= pivot;
  }
  ones_fresh_ = false;
}

void MarginSystem::MoveErrorSums(const double* kernel, double count) {
  for (size_t k = 0; k < size(); ++k) {
    const DoubleDouble e = DoubleDouble{e_hi_[k], e_lo_[k]} + TwoProd(kernel[k], count);
    e_hi_[k] = e.hi;
    e_lo_[k] = e.lo;
    e_error_[k] += std::fabs(e.hi);
  }
  ++e_changes_;
}

void MarginSystem::SetErrorSum(size_t k, DoubleDouble e, size_t terms) {
  e_hi_[k] = e.hi;
  e_lo_[k] = e.lo;
  e_error_[k] = e.hi * static_cast<double>(terms);
}

void MarginSystem::SetBox(DoubleDouble box, uint64_t error_tokens) {
  box_ = box;
  error_tokens_ = static_cast<double>(error_tokens);
  if (error_tokens > 0) return;
  for (std::vector<double>* x : {&e_hi_, &e_lo_, &e_error_}) std::fill(x->begin(), x->end(), 0.0);
}

void MarginSystem::Precondition(double* x) const {
  dense::SolveLower(factor_.data(), stride_, size(), x);
  dense::SolveUpper(factor_.data(), stride_, size(), x);
}

void MarginSystem::UpdateOnes() {
  if (ones_fresh_) return;
  const size_t m = size();
  std::fill_n(ones_.begin(), m, 1.0);
  Precondition(ones_.data());
  ones_sum_ = 0;
  for (size_t k = 0; k < m; ++k) ones_sum_ += ones_[k];
  ones_fresh_ = true;
}

// r = h 1 - C_n e - K mu - ridge a and sigma = s - 1'mu.
void MarginSystem::EvaluateResidual() {
  const size_t m = size();
  DoubleDouble sigma = DoubleDouble{1, 0} - box_ * error_tokens_;
  for (size_t k = 0; k < m; ++k) {
    const DoubleDouble a{a_hi_[k], a_lo_[k]};
    const DoubleDouble mu = a * counts_[k];
    mu_hi_[k] = mu.hi;
    mu_lo_[k] = mu.lo;
    sigma = sigma - mu;
    const DoubleDouble start = (h_ - DoubleDouble{e_hi_[k], e_lo_[k]} * box_) - a * ridge_;
    r_hi_[k] = start.hi;
    r_lo_[k] = start.lo;
  }
  sigma_ = sigma.hi;
  dense::SubtractProducts(kernel_.data(), stride_, m, mu_hi_.data(), mu_lo_.data(), r_hi_.data(),
                          r_lo_.data());
}

double MarginSystem::Improve() {
  EvaluateResidual();
  return Step();
}

// With M dmu - dh 1 = r, 1'dmu = sigma: dh = (sigma - 1'M^-1 r) / 1'M^-1 1, dmu = M^-1 r + dh M^-1 1.
double MarginSystem::Step() {
  const size_t m = size();
  UpdateOnes();
  std::copy_n(r_hi_.begin(), m, work_.begin());
  Precondition(work_.data());
  double sum = 0;
  for (size_t k = 0; k < m; ++k) sum += work_[k];
  const double dh = (sigma_ - sum) / ones_sum_;
  double largest = 0;
  bool finite = true;
  for (size_t k = 0; k < m; ++k) {
    const double shift = dh * ones_[k];
    // Its error is that of its parts, which may cancel.
    const double parts = std::fabs(work_[k]) + std::fabs(shift);
    largest = std::max(largest, parts);
    finite = finite && std::isfinite(parts);
    const DoubleDouble a = DoubleDouble{a_hi_[k], a_lo_[k]} + (work_[k] + shift) / counts_[k];
    a_hi_[k] = a.hi;
    a_lo_[k] = a.lo;
  }
  h_ = h_ + dh;
  if (!finite) return kInfinity;
  return largest;
}

// (4.2) of docs/math/canonical.md in masses, `lambda` <= the smallest eigenvalue of M.
void MarginSystem::BoundFromResidual(double lambda) {
  const size_t m = size();
  const double inverse_root = std::sqrt((1 + ridge_) / lambda) * kOutward;
  const double mass_error = (r_norm_upper_ / lambda + sigma_upper_ * inverse_root) * kOutward;
  for (size_t k = 0; k < m; ++k) weight_error_[k] = mass_error / counts_[k] * kOutward;
  h_error_ = (inverse_root * r_norm_upper_ + (1 + ridge_) * sigma_upper_) * kOutward;
  slack_error_ = (std::sqrt(static_cast<double>(m)) * mass_error + h_error_) * kOutward;
}

bool MarginSystem::Prove() {
  const size_t m = size();
  // Removing rows and columns does not lower the smallest eigenvalue (Cauchy's interlacing).
  const double lambda = std::max(lambda_, AprioriEigenvalue());
  std::fill_n(weight_error_.begin(), m, kInfinity);
  h_error_ = slack_error_ = kInfinity;
  if (!(lambda > 0)) return false;
  double best = kInfinity;
  for (int round = 0; round < kMaxRounds; ++round) {
    EvaluateResidual();
    BoundResidual();
    BoundFromResidual(lambda);
    if (!(slack_error_ < 0.5 * best)) break;
    best = slack_error_;
    if (round + 1 < kMaxRounds) Step();
  }
  if (std::isfinite(slack_error_)) return true;
  std::fill_n(weight_error_.begin(), m, kInfinity);  // nor a NaN
  h_error_ = slack_error_ = kInfinity;
  return false;
}

void MarginSystem::BoundResidual() {
  const size_t m = size();
  const double per_term = (8 * static_cast<double>(m) + 32) * kRoundoffSquared + 16 * kDoubleDoubleError;
  double mass_magnitude = 1 + box_.hi * error_tokens_;
  bool negative = false;
  for (size_t k = 0; k < m; ++k) {
    mass_magnitude += std::fabs(mu_hi_[k]);
    negative = negative || mu_hi_[k] < 0;
  }
  double squares = 0;
  for (size_t k = 0; k < m; ++k) {
    const double start = std::fabs(h_.hi) + std::fabs(e_hi_[k]) * box_.hi + std::fabs(a_hi_[k]) * ridge_;
    const double start_error = (16 * start + e_error_[k] * box_.hi) * kDoubleDoubleError;
    // sum_j K |mu|: where all mu >= 0, it is what took the start to the residual.
    const double products = negative ? mass_magnitude : start + std::fabs(r_hi_[k]);
    r_upper_[k] =
        (std::fabs(r_hi_[k]) * (1 + 0x1p-52) + start_error + (start + products) * per_term) * kOutward +
        kUnderflow;
    squares += r_upper_[k] * r_upper_[k];
  }
  r_norm_upper_ = std::sqrt(squares) * kOutward;
  sigma_upper_ = (std::fabs(sigma_) * (1 + 0x1p-52) +
                  mass_magnitude * (static_cast<double>(m) + 8) * kDoubleDoubleError) *
                 kOutward;
}

double MarginSystem::AprioriEigenvalue() const {
  double most = 0;
  for (const double count : counts_) most = std::max(most, count);
  return (ridge_ / most - static_cast<double>(size()) * 0x1p-54) * (1 - 0x1p-50);
}

Eigen::MatrixXd MarginSystem::Matrix() const {
  const auto m = static_cast<Eigen::Index>(size());
  Eigen::MatrixXd matrix = ConstMatrixMap(kernel_.data(), m, m, Stride());
  for (Eigen::Index k = 0; k < m; ++k) matrix(k, k) = 1 + ridge_ / counts_[static_cast<size_t>(k)];
  return matrix;
}

MarginSystem::ConstMatrixMap MarginSystem::Factor() const {
  const auto m = static_cast<Eigen::Index>(size());
  return {factor_.data(), m, m, Stride()};
}

void MarginSystem::TightenByEigenvalue() {
  const double floor = AprioriEigenvalue();
  lambda_ = std::max(lambda_, EigenvalueLowerBound(Matrix(), Factor(), floor));
  if (lambda_ > floor) BoundFromResidual(lambda_);
}

void MarginSystem::TightenByInverse() {
  const std::vector<double> r_upper(r_upper_.begin(), r_upper_.begin() + static_cast<ptrdiff_t>(size()));
  const ComponentwiseError error = BoundComponents(Matrix(), Factor(), r_upper, sigma_upper_);
  if (error.x.empty()) return;
  double sum = 0;
  for (size_t k = 0; k < size(); ++k) {
    weight_error_[k] = std::min(weight_error_[k], error.x[k] / counts_[k] * kOutward);
    sum += weight_error_[k] * counts_[k];
  }
  h_error_ = std::min(h_error_, error.h);
  slack_error_ = std::min(slack_error_, (sum + h_error_) * kOutward);  // K <= 1
}

double MarginSystem::RoomError(size_t k) const {
  return (weight_error_[k] + (box_.hi + std::fabs(a_hi_[k])) * 2 * kDoubleDoubleError) * kOutward;
}

std::optional<WeightSide> MarginSystem::Side(size_t k) const {
  const DoubleDouble a{a_hi_[k], a_lo_[k]};
  if (a.hi < -2 * weight_error_[k]) return WeightSide::kBelowOrAtZero;
  const DoubleDouble room = box_ - a;
  const double error = RoomError(k);
  if (room.hi < -2 * error) return WeightSide::kAtOrAboveBox;
  if (a.hi > 2 * weight_error_[k] && room.hi > 2 * error) return WeightSide::kInside;
  return std::nullopt;
}

std::optional<RoundedDouble> MarginSystem::RoundedWeight(size_t k) const {
  if (!RoundsToHi({a_hi_[k], a_lo_[k]}, weight_error_[k])) return std::nullopt;
  return RoundedDouble{a_hi_[k], false};
}

std::optional<RoundedDouble> MarginSystem::RoundedRho() const {
  const DoubleDouble rho = DoubleDouble{1, 0} - DoubleDouble{2 * h_.hi, 2 * h_.lo};
  const double error = (2 * h_error_ + (1 + 2 * std::fabs(h_.hi)) * kDoubleDoubleError) * kOutward;
  if (!RoundsToHi(rho, error)) return std::nullopt;
  return RoundedDouble{rho.hi, false};
}

double MarginSystem::DistanceLower(size_t k) const {
  const double low = (a_hi_[k] - 2 * weight_error_[k]) * (1 - 0x1p-50);
  const double high = ((box_ - DoubleDouble{a_hi_[k], a_lo_[k]}).hi - 2 * RoomError(k)) * (1 - 0x1p-50);
  return std::max(0.0, std::min(low, high));
}

std::optional<Slack> MarginSystem::SlackOf(const double* kernel, DoubleDouble e, size_t error_terms,
                                           bool in_error) const {
  DoubleDouble sum = e * box_;
  if (in_error) sum = sum + box_ * ridge_;
  double magnitude = std::fabs(h_.hi) + sum.hi;
  for (size_t k = 0; k < size(); ++k) {
    sum = sum + DoubleDouble{mu_hi_[k], mu_lo_[k]} * kernel[k];
    magnitude += std::fabs(mu_hi_[k]) * kernel[k];
  }
  const double difference = (sum - h_).hi;
  const double terms = static_cast<double>(size() + 2 * error_terms) + 13;
  const double error = (magnitude * terms * kDoubleDoubleError + kUnderflow + slack_error_) * kOutward;
  if (!(std::fabs(difference) > 2 * error)) return std::nullopt;
  return Slack{difference > 0 ? 1 : -1, (std::fabs(difference) - error) * (1 - 0x1p-50)};
}

void MarginSystem::SolveBordered(absl::Span<const double> rhs, double mass, absl::Span<double> z,
                                 double* zeta) const {
  const size_t m = size();
  std::vector<double> z_lo(m, 0.0);
  std::vector<double> hi(m);
  std::vector<double> lo(m);
  std::vector<double> ones(m, 1.0);
  Precondition(ones.data());
  double t = 0;
  for (const double x : ones) t += x;
  std::fill(z.begin(), z.end(), 0.0);
  DoubleDouble multiplier;
  double before = kInfinity;
  for (int round = 0; round < kMaxRounds; ++round) {
    DoubleDouble sigma{mass, 0};
    for (size_t k = 0; k < m; ++k) {
      const DoubleDouble x{z[k], z_lo[k]};
      sigma = sigma - x;
      const DoubleDouble start = (DoubleDouble{rhs[k], 0} + multiplier) - x * (ridge_ / counts_[k]);
      hi[k] = start.hi;
      lo[k] = start.lo;
    }
    dense::SubtractProducts(kernel_.data(), stride_, m, z.data(), z_lo.data(), hi.data(), lo.data());
    double norm = std::fabs(sigma.hi);
    for (const double x : hi) norm = std::max(norm, std::fabs(x));
    if (!(norm < 0.5 * before)) break;
    before = norm;
    Precondition(hi.data());
    double sum = 0;
    for (const double x : hi) sum += x;
    const double delta = (sigma.hi - sum) / t;
    for (size_t k = 0; k < m; ++k) {
      const DoubleDouble x = DoubleDouble{z[k], z_lo[k]} + (hi[k] + delta * ones[k]);
      z[k] = x.hi;
      z_lo[k] = x.lo;
    }
    multiplier = multiplier + delta;
  }
  *zeta = multiplier.hi;
}

}  // namespace expunge::solver
