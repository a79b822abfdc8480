#include "solver/vertex.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace expunge::solver {
namespace {

// w_j = (Ha)_j / C_n = sum over the tokens of E of H_je, the extreme of which is sought among tokens of one
// class.
class RowSums {
 public:
  RowSums(Problem* problem, const Partition& partition) : problem_(*problem), error_(partition.error) {
    const size_t n = problem_.n();
    approx_.assign(n, 0.0);
    for (const uint32_t e : error_) {
      const double* row = problem_.ApproxRow(e);
      const double count = problem_.Count(e);
      for (size_t j = 0; j < n; ++j) approx_[j] += count * row[j];
    }
    for (const uint32_t e : error_) approx_[e] += problem_.ridge();
    const double terms = static_cast<double>(problem_.Count(error_)) + 1;
    bound_ = terms * (problem_.approx_error() + (terms + 4) * 0x1p-53) * (1 + 0x1p-20);
  }

  // The largest (sign = +1) or smallest (sign = -1) w_j over tokens of `wanted`; nullopt if there are none.
  std::optional<VertexExtreme> Find(const std::vector<TokenClass>& classes, TokenClass wanted, int sign) {
    double best = -std::numeric_limits<double>::infinity();
    for (size_t j = 0; j < classes.size(); ++j) {
      if (classes[j] == wanted) best = std::max(best, sign * approx_[j]);
    }
    if (std::isinf(best)) return std::nullopt;
    VertexExtreme extreme;
    for (uint32_t j = 0; j < classes.size(); ++j) {
      if (classes[j] != wanted || sign * approx_[j] < best - 2 * bound_) continue;
      const Float value = Exact(j);
      const int order = extreme.count == 0 ? 1 : sign * arf_cmp(value, extreme.value);
      if (order > 0) extreme = {j, value, problem_.Count(j)};
      if (order == 0) extreme.count += problem_.Count(j);
    }
    return extreme;
  }

 private:
  Float Exact(uint32_t j) {
    Float sum = problem_.KernelSum(error_, j);
    if (!std::binary_search(error_.begin(), error_.end(), j)) return sum;
    const Float ridge(problem_.ridge());
    arf_add(sum, sum, ridge, ARF_PREC_EXACT, ARF_RND_DOWN);
    return sum;
  }

  Problem& problem_;
  const std::vector<uint32_t>& error_;
  std::vector<double> approx_;
  double bound_ = 0;
};

// 1 - C_n * sum.
RoundedDouble OneMinus(const Rational& box, const Float& sum) {
  Rational x;
  arf_get_fmpq(x, sum);
  fmpq_mul(x, x, box);
  fmpq_neg(x, x);
  fmpq_add_si(x, x, 1);
  return RoundToDouble(x);
}

}  // namespace

Vertex ConcludeVertex(const Rational& box, const VertexExtreme& high,
                      const std::optional<VertexExtreme>& low) {
  Vertex vertex;
  Float sum;
  if (!low.has_value()) {
    arf_mul_2exp_si(sum, high.value, 1);
    vertex.rho = OneMinus(box, sum);
    vertex.margin_lower = std::numeric_limits<double>::infinity();
    return vertex;
  }
  arf_add(sum, high.value, low->value, ARF_PREC_EXACT, ARF_RND_DOWN);
  vertex.rho = OneMinus(box, sum);
  // g_j = C_n (2 w_j - max - min): smallest in magnitude at the two ends, C_n (min - max) at both.
  Float gap;
  arf_sub(gap, low->value, high.value, ARF_PREC_EXACT, ARF_RND_DOWN);
  if (arf_is_zero(gap)) vertex.ties = high.count + low->count;
  Rational margin;
  arf_get_fmpq(margin, gap);
  fmpq_mul(margin, margin, box);
  vertex.margin_lower = LowerBound(margin);
  return vertex;
}

Vertex ExamineVertex(Problem* problem, const Partition& partition) {
  RowSums sums(problem, partition);
  const auto high = sums.Find(partition.classes, TokenClass::kError, +1);
  const auto low = sums.Find(partition.classes, TokenClass::kReserve, -1);
  Vertex vertex;
  if (high.has_value()) vertex.error_max = high->token;
  if (low.has_value()) vertex.reserve_min = low->token;

  Rational mass;
  fmpq_mul_fmpz(mass, problem->box(), Integer(problem->Count(partition.error)));
  const int order = fmpz_cmp(mass.numerator(), mass.denominator());
  if (order < 0) {
    vertex.outcome = Vertex::Outcome::kMassTooLow;
  } else if (order > 0) {
    vertex.outcome = Vertex::Outcome::kMassTooHigh;
  } else if (low.has_value() && arf_cmp(high->value, low->value) > 0) {
    vertex.outcome = Vertex::Outcome::kNotOptimal;
  } else {
    vertex = ConcludeVertex(problem->box(), *high, low);
  }
  return vertex;
}

}  // namespace expunge::solver
