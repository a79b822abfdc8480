#include "attention/cpu/fast_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/cpu/fast_rows.cc"
#include "hwy/foreach_target.h"
//
#include "attention/cpu/exponential-inl.h"
#include "attention/cpu/tile-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace expunge::attention::cpu {
namespace HWY_NAMESPACE {

// o = e + t N / P.
template <typename T>
struct Mean {
  const T* inverse_totals;  // 1 / P, of each row
  T scale;                  // t
  const T* centre;          // e

  template <class D, class V>
  HWY_INLINE V operator()(D d, V sum, size_t row, size_t column) const {
    const V mean = hn::Mul(sum, hn::Set(d, inverse_totals[row]));
    return hn::MulAdd(mean, hn::Set(d, scale), hn::Load(d, centre + column));
  }
};

// One call of ReadFastRows.
template <typename T, typename Q>
class FastReader {
 public:
  FastReader(const FastSupport<T>& support, const FastRows<T, Q>& rows, FastScratch<T>* scratch)
      : support_(support), packed_(support.packed), rows_(rows), scratch_(*scratch) {
    stride_ = (packed_.key_dimension + kPanel - 1) / kPanel * kPanel;
    if (one_block()) last_place_ = kMaxRows - 1;
    Grow(rows.rows * stride_, &scratch_.centred);
    Grow(kMaxRows * kFastTokens, &scratch_.weights);
    Grow(rows.rows * packed_.value_stride, &scratch_.sums);
    Grow(rows.rows * 2 * kPanel, &scratch_.rows);
    Grow(3 * kFastRows, &scratch_.decisions);
    maxima_ = scratch_.rows.data() + rows.rows * kPanel;
    inverse_totals_ = maxima_ + rows.rows;
  }

  void Read() {
    for (size_t first = 0; first < packed_.tokens; first += kFastTokens) {
      const size_t tokens = HWY_MIN(kFastTokens, packed_.tokens - first);
      for (size_t row = 0; row < rows_.rows; row += kMaxRows) {
        const size_t rows = HWY_MIN(kMaxRows, rows_.rows - row);
        for (size_t r = row; r < row + rows && first == 0; ++r) Centre(r);
        ReadBlock(first, tokens, row, rows);
      }
    }
    Decide();
    WipeScratch();
  }

 private:
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr size_t kLanes = hn::MaxLanes(D());

  template <typename E>
  static void Grow(size_t size, SecretArray<E>* array) {
    if (array->size() < size) array->resize(size);
  }

  [[nodiscard]] bool one_block() const { return packed_.tokens <= kFastTokens; }

  // z, and P in parts, of a row. The rows of a tile that ends with its only block leave their places to those
  // of the next one: so the scratch stays in the first cache, and there is less to wipe.
  [[nodiscard]] T* CentredOf(size_t row) { return scratch_.centred.data() + (row & last_place_) * stride_; }
  [[nodiscard]] T* TotalOf(size_t row) { return scratch_.rows.data() + (row & last_place_) * kPanel; }

  // z = q - c, and |z|^2.
  void Centre(size_t r) {
    const D d;
    const size_t dimension = packed_.key_dimension;
    const Q* HWY_RESTRICT q = rows_.queries + r * dimension;
    const T* HWY_RESTRICT c = support_.key_centre;
    T* HWY_RESTRICT z = CentredOf(r);
    V squares = hn::Zero(d);
    size_t k = 0;
    if constexpr (std::is_same_v<Q, T>) {
      for (; k + kLanes <= dimension; k += kLanes) {
        const V x = hn::Sub(hn::LoadU(d, q + k), hn::Load(d, c + k));
        hn::Store(x, d, z + k);
        squares = hn::MulAdd(x, x, squares);
      }
    }
    const size_t rest = k;
    for (; k < dimension; ++k) z[k] = static_cast<T>(q[k] - c[k]);
    for (; k < stride_; ++k) z[k] = 0;
    for (k = rest; k < dimension; k += kLanes) {
      const V x = hn::Load(d, z + k);
      squares = hn::MulAdd(x, x, squares);
    }
    scratch_.decisions[r] = static_cast<double>(hn::GetLane(hn::SumOfLanes(d, squares)));
  }

  // One block of tokens for the rows of one tile.
  void ReadBlock(size_t first, size_t tokens, size_t row, size_t rows) {
    const D d;
    T* weights = scratch_.weights.data();
    const size_t vectors = (tokens + kLanes - 1) / kLanes;
    const Product<T> exponents = {CentredOf(row),
                                  stride_,
                                  packed_.key_dimension,
                                  packed_.key_panels + first * packed_.key_dimension,
                                  kPanel * packed_.key_dimension,
                                  kPanel,
                                  packed_.bias + first,
                                  0,
                                  weights,
                                  kFastTokens};
    Multiply<FusedStep>(d, exponents, AsItIs(), rows, 0, vectors);
    for (size_t r = 0; r < rows; ++r) RaiseMaximum(weights + r * kFastTokens, vectors, row + r, first == 0);
    for (size_t r = 0; r < rows; ++r) Weigh(weights + r * kFastTokens, vectors, row + r);
    const bool last = first + tokens == packed_.tokens;
    if (last) InvertTotals(row, rows);
    T* sums = scratch_.sums.data() + row * packed_.value_stride;
    Product<T> values = {weights,
                         kFastTokens,
                         tokens,
                         packed_.values + first * packed_.value_stride,
                         kPanel,
                         packed_.value_stride,
                         first == 0 ? nullptr : sums,
                         packed_.value_stride,
                         sums,
                         packed_.value_stride};
    const size_t value_vectors = (packed_.value_dimension + kLanes - 1) / kLanes;
    if (!last) return Multiply<FusedStep>(d, values, AsItIs(), rows, 0, value_vectors);
    const Mean<T> mean = {inverse_totals_ + row, support_.value_scale, support_.value_centre};
    // Only whole vectors can go where the next row follows.
    const size_t whole = packed_.value_dimension / kLanes;
    if (whole < value_vectors) {
      Multiply<FusedStep>(d, values, mean, rows, whole, value_vectors);
      CopyTails(row, rows, whole * kLanes);
    }
    values.out = rows_.outputs + row * packed_.value_dimension;
    values.out_stride = packed_.value_dimension;
    Multiply<FusedStep>(d, values, mean, rows, 0, whole);
  }

  // What lies beyond `begin` of some rows, from the scratch to the outputs.
  void CopyTails(size_t row, size_t rows, size_t begin) {
    for (size_t r = row; r < row + rows; ++r) {
      const T* sums = scratch_.sums.data() + r * packed_.value_stride;
      std::copy(sums + begin, sums + packed_.value_dimension,
                rows_.outputs + r * packed_.value_dimension + begin);
    }
  }

  // The running maximum of a row, to which the weights of the blocks before are adapted.
  void RaiseMaximum(const T* exponents, size_t vectors, size_t row, bool first) {
    const D d;
    V highest = hn::Load(d, exponents);
    for (size_t v = 1; v < vectors; ++v) highest = hn::Max(highest, hn::Load(d, exponents + v * kLanes));
    const T largest = hn::GetLane(hn::MaxOfLanes(d, highest));
    T* total = TotalOf(row);
    if (first) {
      hn::Store(hn::Zero(d), d, total);
    } else if (largest > maxima_[row]) {
      const V factor = Exp2(d, hn::Set(d, maxima_[row] - largest));
      hn::Store(hn::Mul(hn::Load(d, total), factor), d, total);
      T* sums = scratch_.sums.data() + row * packed_.value_stride;
      for (size_t k = 0; k < packed_.value_stride; k += kLanes) {
        hn::Store(hn::Mul(hn::Load(d, sums + k), factor), d, sums + k);
      }
    } else {
      return;
    }
    maxima_[row] = largest;
  }

  // Exponents to weights, relative to the running maximum.
  void Weigh(T* weights, size_t vectors, size_t row) {
    const D d;
    const V maximum = hn::Set(d, maxima_[row]);
    T* total = TotalOf(row);
    V sum = hn::Load(d, total);
    for (size_t v = 0; v < vectors; ++v) {
      const V p = Exp2(d, hn::Sub(hn::Load(d, weights + v * kLanes), maximum));
      sum = hn::Add(sum, p);
      hn::Store(p, d, weights + v * kLanes);
    }
    hn::Store(sum, d, total);
  }

  // P is known before the last values are summed.
  void InvertTotals(size_t row, size_t rows) {
    const D d;
    for (size_t r = row; r < row + rows; ++r) {
      const T total = hn::GetLane(hn::SumOfLanes(d, hn::Load(d, TotalOf(r))));
      inverse_totals_[r] = 1 / total;
      scratch_.decisions[kFastRows + r] = static_cast<double>(total);
      scratch_.decisions[2 * kFastRows + r] = static_cast<double>(maxima_[r]);
    }
  }

  // f = 2 P 2^(L - gamma log2(e) |z|^2) - offset, and |z|.
  void Decide() {
    const hn::ScalableTag<double> d;
    constexpr size_t kDoubles = hn::MaxLanes(hn::ScalableTag<double>());
    double* squares = scratch_.decisions.data();
    const double* totals = squares + kFastRows;
    double* exponents = squares + 2 * kFastRows;
    for (size_t r = 0; r < rows_.rows; r += kDoubles) {
      const auto square = hn::Load(d, squares + r);
      const auto drop = hn::Mul(hn::Set(d, support_.gamma_log2e), square);
      const auto exponent = hn::Min(hn::Sub(hn::Load(d, exponents + r), drop), hn::Set(d, 64.0));
      // The weights of the exact sum add up to 1 and no kernel value exceeds 1: nor must it, where |z|^2 is
      // so large that its rounding alone is worth powers of two.
      const auto sum = hn::Mul(hn::Load(d, totals + r), Exp2(d, exponent));
      const auto weight = hn::Min(sum, hn::Set(d, 1.0));
      hn::Store(hn::Sub(hn::Add(weight, weight), hn::Set(d, support_.offset)), d, exponents + r);
      hn::Store(hn::Sqrt(square), d, squares + r);
    }
    std::copy_n(exponents, rows_.rows, rows_.decision_values);
    std::copy_n(squares, rows_.rows, rows_.query_norms);
  }

  // Only what has been used, so that it costs little.
  void WipeScratch() {
    const size_t tile = HWY_MIN(kMaxRows, rows_.rows);
    const size_t places = HWY_MIN(last_place_ + 1, rows_.rows);
    Clear(scratch_.centred.data(), places * stride_);
    Clear(scratch_.rows.data(), places * kPanel);
    Clear(maxima_, 2 * rows_.rows);
    for (size_t r = 0; r < tile; ++r) {
      Clear(scratch_.weights.data() + r * kFastTokens, HWY_MIN(kFastTokens, packed_.tokens));
    }
    const size_t dv = packed_.value_dimension;
    const size_t begin = one_block() ? dv / kLanes * kLanes : 0;
    const size_t end = one_block() ? dv : packed_.value_stride;
    for (size_t r = 0; r < rows_.rows && begin < end; ++r) {
      Clear(scratch_.sums.data() + r * packed_.value_stride + begin, end - begin);
    }
    for (size_t part = 0; part < 3; ++part) {
      Clear(scratch_.decisions.data() + part * kFastRows, rows_.rows);
    }
  }

  const FastSupport<T>& support_;
  const PackedSupport<T>& packed_;
  const FastRows<T, Q>& rows_;
  FastScratch<T>& scratch_;
  size_t stride_;
  size_t last_place_ = kFastRows - 1;  // of rows; then the first one again; a power of two less 1
  T* maxima_;
  T* inverse_totals_;
};

void ReadFloatOfFloat(const FastSupport<float>& support, const FastRows<float, float>& rows,
                      FastScratch<float>* scratch) {
  FastReader<float, float>(support, rows, scratch).Read();
}
void ReadFloatOfDouble(const FastSupport<float>& support, const FastRows<float, double>& rows,
                       FastScratch<float>* scratch) {
  FastReader<float, double>(support, rows, scratch).Read();
}
void ReadDoubleOfFloat(const FastSupport<double>& support, const FastRows<double, float>& rows,
                       FastScratch<double>* scratch) {
  FastReader<double, float>(support, rows, scratch).Read();
}
void ReadDoubleOfDouble(const FastSupport<double>& support, const FastRows<double, double>& rows,
                        FastScratch<double>* scratch) {
  FastReader<double, double>(support, rows, scratch).Read();
}

const char* UnitName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace expunge::attention::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace expunge::attention::cpu {

HWY_EXPORT(ReadFloatOfFloat);
HWY_EXPORT(ReadFloatOfDouble);
HWY_EXPORT(ReadDoubleOfFloat);
HWY_EXPORT(ReadDoubleOfDouble);
HWY_EXPORT(UnitName);

template <>
void ReadFastRows(const FastSupport<float>& support, const FastRows<float, float>& rows,
                  FastScratch<float>* scratch) {
  HWY_DYNAMIC_DISPATCH(ReadFloatOfFloat)(support, rows, scratch);
}
template <>
void ReadFastRows(const FastSupport<float>& support, const FastRows<float, double>& rows,
                  FastScratch<float>* scratch) {
  HWY_DYNAMIC_DISPATCH(ReadFloatOfDouble)(support, rows, scratch);
}
template <>
void ReadFastRows(const FastSupport<double>& support, const FastRows<double, float>& rows,
                  FastScratch<double>* scratch) {
  HWY_DYNAMIC_DISPATCH(ReadDoubleOfFloat)(support, rows, scratch);
}
template <>
void ReadFastRows(const FastSupport<double>& support, const FastRows<double, double>& rows,
                  FastScratch<double>* scratch) {
  HWY_DYNAMIC_DISPATCH(ReadDoubleOfDouble)(support, rows, scratch);
}

// Sums over keys have d products and the bias, in one chain. Sums over tokens add at most m terms that are
// not 0, in any grouping, so that no term passes more than m additions. A weight is rescaled where the
// maximum rises from one block to the next. 2^x: coefficients and the last steps of the polynomial, without
// fused operations at worst, are good to 2^-22.4 and 2^-51.4 (the test measures less).
template <typename T>
FastArithmetic FastArithmeticOf(const ReadoutShape& shape) {
  constexpr bool kFloat = sizeof(T) == sizeof(float);
  const size_t later_blocks = (shape.tokens - 1) / kFastTokens;
  FastArithmetic arithmetic;
  arithmetic.storage = kFloat ? 0x1p-24 : 0x1p-53;
  arithmetic.arithmetic = arithmetic.storage;
  arithmetic.exp2 = kFloat ? 0x1p-22 : 0x1p-51;
  arithmetic.range = kFloat ? 125 : 1020;
  arithmetic.rescalings = static_cast<double>(later_blocks);
  arithmetic.key_depth = static_cast<double>(shape.key_dimension + 1);
  arithmetic.value_depth = static_cast<double>(shape.tokens);
  arithmetic.underflow = static_cast<double>(std::numeric_limits<T>::min());
  return arithmetic;
}
template FastArithmetic FastArithmeticOf<float>(const ReadoutShape&);
template FastArithmetic FastArithmeticOf<double>(const ReadoutShape&);

const char* VectorUnit() { return HWY_DYNAMIC_DISPATCH(UnitName)(); }

}  // namespace expunge::attention::cpu
#endif  // HWY_ONCE
