#include "attention/cpu/certified_rows.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/cpu/certified_rows.cc"
#include "hwy/foreach_target.h"
//
#include "attention/cpu/exponential-inl.h"
#include "attention/cpu/tile-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace expunge::attention::cpu {
namespace HWY_NAMESPACE {

// o_k = (sum p_i v_ik) / (sum p_i).
struct Quotient {
  const double* totals;  // of each row

  template <class D, class V>
  HWY_INLINE V operator()(D d, V sum, size_t row, size_t /*column*/) const {
    return hn::Div(sum, hn::Set(d, totals[row]));
  }
};

// One call of ReadCertifiedRows.
class CertifiedReader {
 public:
  CertifiedReader(const CertifiedProblem& problem, const CertifiedRows& rows, CertifiedScratch* scratch)
      : problem_(problem),
        support_(*problem.support),
        rows_(rows),
        scratch_(*scratch),
        stride_(support_.panels * kPanel) {
    Grow(rows.rows * stride_, &scratch_.weights);
    Grow(rows.rows * support_.value_stride, &scratch_.sums);
  }

  void Read() {
    const D d;
    double* weights = scratch_.weights.data();
    const size_t dimension = support_.key_dimension;
    const Product<double> distances = {
        rows_.queries, dimension, dimension, support_.key_panels, kPanel * dimension, kPanel, nullptr, 0,
        weights,       stride_};
    Multiply<SquareStep>(d, distances, AsItIs(), rows_.rows, 0, (support_.tokens + kLanes - 1) / kLanes);
    double totals[kCertifiedRows];
    for (size_t r = 0; r < rows_.rows; ++r) totals[r] = Weigh(r);
    for (size_t r = 0; r < rows_.rows && rows_.weights != nullptr; ++r) Share(r, totals[r]);
    double* sums = scratch_.sums.data();
    Product<double> values = {
        weights, stride_, support_.tokens,      support_.values, kPanel, support_.value_stride, nullptr,
        0,       sums,    support_.value_stride};
    const Quotient quotient = {totals};
    const size_t dv = support_.value_dimension;
    // Only whole vectors can go where the next row follows.
    const size_t whole = dv / kLanes;
    if (whole * kLanes < dv) {
      Multiply<PlainStep>(d, values, quotient, rows_.rows, whole, whole + 1);
      for (size_t r = 0; r < rows_.rows; ++r) {
        const double* row = sums + r * support_.value_stride;
        std::copy(row + whole * kLanes, row + dv, rows_.outputs + r * dv + whole * kLanes);
      }
    }
    values.out = rows_.outputs;
    values.out_stride = dv;
    Multiply<PlainStep>(d, values, quotient, rows_.rows, 0, whole);
    WipeScratch();
  }

 private:
  using D = hn::ScalableTag<double>;
  using V = hn::Vec<D>;
  static constexpr size_t kLanes = hn::MaxLanes(D());
  static constexpr size_t kPerPanel = kPanel / kLanes;

  static void Grow(size_t size, SecretArray<double>* array) {
    if (array->size() < size) array->resize(size);
  }

  // Distances to logits; returns the largest one. Lanes beyond the last vector of tokens are not read.
  double ToLogits(double* row) {
    const D d;
    const V gamma = hn::Set(d, problem_.gamma);
    const V farthest = hn::Set(d, 1e300);
    V largest = hn::Set(d, -std::numeric_limits<double>::infinity());
    for (size_t i = 0; i < support_.tokens; i += kLanes) {
      // Beyond 1e300 every weight but the nearest token's is 0 in any case; this keeps the logits finite.
      const V t = hn::Min(hn::Mul(gamma, hn::Load(d, row + i)), farthest);
      const V logit = hn::Sub(hn::Load(d, support_.bias + i), t);
      largest = hn::Max(largest, logit);
      hn::Store(logit, d, row + i);
    }
    return hn::GetLane(hn::MaxOfLanes(d, largest));
  }

  // Distances to weights p_i; returns their sum: 16 partial sums, and those by a tree.
  double Weigh(size_t r) {
    const D d;
    double* row = scratch_.weights.data() + r * stride_;
    const double largest = ToLogits(row);
    const V top = hn::Set(d, largest);
    const V negligible = hn::Set(d, 700.0);
    V partial[kPerPanel];
    for (V& sum : partial) sum = hn::Zero(d);
    V scale = hn::Zero(d);
    for (size_t i = 0; i < support_.tokens; i += kPanel) {
      for (size_t v = 0; v < kPerPanel; ++v) {
        const size_t at = i + v * kLanes;
        if (at >= support_.tokens) break;
        const V logit = hn::Load(d, row + at);
        const V below = hn::Sub(top, logit);
        const V p = ExpOfNegative(d, below);
        partial[v] = hn::Add(partial[v], p);
        hn::Store(p, d, row + at);
        // Terms below exp(-700) are 0 here and less than that in truth; they need no accurate logit.
        const V size = hn::Add(hn::Abs(hn::Load(d, support_.bias + at)), hn::Abs(logit));
        scale = hn::Max(scale, hn::IfThenElseZero(hn::Lt(below, negligible), size));
      }
    }
    rows_.logit_scales[r] = hn::GetLane(hn::MaxOfLanes(d, scale));
    const double total = SumOfPartial(partial);
    const V weight = ExpOfNegative(d, hn::Set(d, -largest));
    rows_.decision_values[r] = 2 * hn::GetLane(weight) * total - (1 - problem_.rho);
    return total;
  }

  static double SumOfPartial(const V (&partial)[kPerPanel]) {
    const D d;
    HWY_ALIGN double sums[kPanel];
    for (size_t v = 0; v < kPerPanel; ++v) hn::Store(partial[v], d, sums + v * kLanes);
    for (size_t width = kPanel / 2; width > 0; width /= 2) {
      for (size_t j = 0; j < width; ++j) sums[j] += sums[j + width];
    }
    return sums[0];
  }

  // The weights of the softmax.
  void Share(size_t r, double total) {
    const double* row = scratch_.weights.data() + r * stride_;
    std::transform(row, row + support_.tokens, rows_.weights + r * support_.tokens,
                   [total](double p) { return p / total; });
  }

  // Only what has been used, so that it costs little.
  void WipeScratch() {
    Clear(scratch_.weights.data(), rows_.rows * stride_);
    const size_t dv = support_.value_dimension;
    const size_t whole = dv / kLanes * kLanes;
    for (size_t r = 0; r < rows_.rows && whole < dv; ++r) {
      Clear(scratch_.sums.data() + r * support_.value_stride + whole, dv - whole);
    }
  }

  const CertifiedProblem& problem_;
  const PackedSupport<double>& support_;
  const CertifiedRows& rows_;
  CertifiedScratch& scratch_;
  const size_t stride_;
};

void ReadRows(const CertifiedProblem& problem, const CertifiedRows& rows, CertifiedScratch* scratch) {
  CertifiedReader(problem, rows, scratch).Read();
}

}  // namespace HWY_NAMESPACE
}  // namespace expunge::attention::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace expunge::attention::cpu {

HWY_EXPORT(ReadRows);

size_t CertifiedRowsAtOnce(size_t tokens) {
  constexpr size_t kWeights = size_t{1} << 15;
  return std::clamp<size_t>(kWeights / std::max<size_t>(tokens, 1), 1, kCertifiedRows);
}

void ReadCertifiedRows(const CertifiedProblem& problem, const CertifiedRows& rows,
                       CertifiedScratch* scratch) {
  HWY_DYNAMIC_DISPATCH(ReadRows)(problem, rows, scratch);
}

}  // namespace expunge::attention::cpu
#endif  // HWY_ONCE
