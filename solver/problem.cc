#include "solver/problem.h"

#include <algorithm>

#include "absl/types/span.h"
#include "solver/kernel.h"

namespace expunge::solver {
namespace {

constexpr size_t kRowCacheBytes = size_t{256} << 20;

}  // namespace

DoubleDouble ToDoubleDouble(const Rational& x) {
  const double hi = RoundToDouble(x).value;
  Rational rest;
  SetExactly(hi, &rest);
  fmpq_sub(rest, x, rest);
  return {hi, RoundToDouble(rest).value};
}

Rational ExactBoxBound(const BoxBound& box) {
  Rational c;
  if (box.min_support > 0) {
    fmpq_set_ui(c, 2, 1);
    fmpz_set_ui(c.denominator(), 2 * static_cast<ulong>(box.min_support) - 1);
  } else {
    SetExactly(box.value, &c);
  }
  if (fmpz_cmp(c.numerator(), c.denominator()) > 0) fmpq_one(c);
  return c;
}

void Partition::RefreshLists() {
  margin.clear();
  error.clear();
  for (uint32_t i = 0; i < classes.size(); ++i) {
    if (classes[i] == TokenClass::kMargin) margin.push_back(i);
    if (classes[i] == TokenClass::kError) error.push_back(i);
  }
}

Problem::Problem(const Config& config, const TokenList& tokens, uint64_t total)
    : total_(total > 0 ? total : tokens.size()),
      d_(config.key_dimension),
      gamma_(config.gamma),
      ridge_(config.ridge),
      box_(ExactBoxBound(config.box)),
      approx_error_(ApproxKernelError(d_, gamma_)) {
  absl::flat_hash_map<absl::Span<const double>, uint32_t> known;
  for (const auto& token : tokens) {
    const auto [it, inserted] = known.try_emplace(absl::MakeConstSpan(token->key), static_cast<uint32_t>(n_));
    groups_.push_back(it->second);
    if (inserted) {
      ++n_;
      counts_.push_back(0);
      keys_.insert(keys_.end(), token->key.begin(), token->key.end());
    }
    ++counts_[it->second];
  }
  columns_.resize(n_ * d_);
  for (size_t i = 0; i < n_; ++i) {
    for (size_t k = 0; k < d_; ++k) columns_[k * n_ + i] = keys_[i * d_ + k];
  }
  Rational most;
  fmpq_mul_fmpz(most, box_, Integer(total_));
  single_point_ = fmpz_cmp(most.numerator(), most.denominator()) <= 0;
  if (single_point_) {
    fmpz_one(box_.numerator());
    fmpz_set_ui(box_.denominator(), total_);
  }
  box_dd_ = ToDoubleDouble(box_);
}

uint64_t Problem::Count(const std::vector<uint32_t>& groups) const {
  uint64_t count = 0;
  for (const uint32_t i : groups) count += counts_[i];
  return count;
}

double Problem::Kernel(uint32_t i, uint32_t j) {
  if (i == j) return 1.0;
  const uint64_t pair = (uint64_t{std::min(i, j)} << 32) | std::max(i, j);
  const auto [it, inserted] = kernel_.try_emplace(pair, 0.0);
  if (inserted) it->second = ExactKernel(&keys_[i * d_], &keys_[j * d_], d_, gamma_);
  return it->second;
}

Float Problem::KernelSum(const std::vector<uint32_t>& groups, uint32_t j) {
  Float sum;
  Float term;
  for (const uint32_t i : groups) {
    arf_set_d(term, Kernel(i, j));
    arf_mul_ui(term, term, counts_[i], ARF_PREC_EXACT, ARF_RND_DOWN);
    arf_add(sum, sum, term, ARF_PREC_EXACT, ARF_RND_DOWN);
  }
  return sum;
}

const double* Problem::ApproxRow(uint32_t i) {
  const auto it = rows_.find(i);
  if (it != rows_.end()) return it->second.data();
  if ((rows_.size() + 1) * n_ * sizeof(double) > kRowCacheBytes) rows_.clear();
  std::vector<double>& row = rows_[i];
  row.resize(n_);
  ApproxKernelRow(&keys_[i * d_], columns_.data(), d_, n_, n_, gamma_, row.data());
  return row.data();
}

}  // namespace expunge::solver
