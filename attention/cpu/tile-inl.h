// A register tile: rows of small matrices times matrices whose rows are contiguous. For each vector unit.
#if defined(EXPUNGE_ATTENTION_CPU_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef EXPUNGE_ATTENTION_CPU_TILE_INL_H_
#undef EXPUNGE_ATTENTION_CPU_TILE_INL_H_
#else
#define EXPUNGE_ATTENTION_CPU_TILE_INL_H_
#endif

#include <cstddef>

#include "attention/packed_support.h"
#include "hwy/highway.h"

// GCC keeps an array in registers if all its indices are constants before it looks.
#undef EXPUNGE_UNROLL
#if HWY_COMPILER_GCC_ACTUAL
#define EXPUNGE_UNROLL HWY_PRAGMA(GCC unroll 16)
#else
#define EXPUNGE_UNROLL
#endif

HWY_BEFORE_NAMESPACE();
namespace expunge::attention::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// out[r][j] = init[r][j] (+) sum over s < steps of a[r][s] (*) b[s][j], in ascending order of s. Columns j
// are in groups of kPanel: column j of step s is at b[(j / kPanel) * b_group + s * b_step + j % kPanel].
template <typename T>
struct Product {
  const T* a;  // row-major
  size_t a_stride;
  size_t steps;
  const T* b;
  size_t b_group;
  size_t b_step;
  const T* init;  // row-major; null: 0
  size_t init_stride;
  T* out;  // row-major
  size_t out_stride;
};

// What one step does to a sum.
struct FusedStep {
  template <class V>
  static HWY_INLINE V Add(V sum, V a, V b) {
    return hn::MulAdd(a, b, sum);
  }
};
struct PlainStep {
  template <class V>
  static HWY_INLINE V Add(V sum, V a, V b) {
    return hn::Add(sum, hn::Mul(a, b));
  }
};
struct SquareStep {
  template <class V>
  static HWY_INLINE V Add(V sum, V a, V b) {
    const V difference = hn::Sub(a, b);
    return hn::Add(sum, hn::Mul(difference, difference));
  }
};

// What is stored of a sum: row and column are those of the product.
struct AsItIs {
  template <class D, class V>
  HWY_INLINE V operator()(D /*d*/, V sum, size_t /*row*/, size_t /*column*/) const {
    return sum;
  }
};

// Sums that fit into the registers, with room for the vectors of b and one of a.
constexpr size_t kMaxRows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;
constexpr size_t kMaxSums = HWY_TARGET <= HWY_AVX3 ? 16 : 8;
constexpr size_t kMaxVectors = 8;

// Rows [row, row + kRows) and vectors [vector, vector + kVectors) of the product. Arguments are copies, so
// that no store can change them.
template <class Step, size_t kRows, size_t kVectors, class D, class Ending, typename T = hn::TFromD<D>>
HWY_NOINLINE void Tile(D d, const Product<T> x, const Ending ending, size_t row, size_t vector) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  constexpr size_t kPerPanel = kPanel / kLanes;
  const T* b[kVectors];
  hn::Vec<D> sums[kRows][kVectors];
  EXPUNGE_UNROLL
  for (size_t v = 0; v < kVectors; ++v) {
    const size_t at = vector + v;
    b[v] = x.b + (at / kPerPanel) * x.b_group + (at % kPerPanel) * kLanes;
  }
  if (x.init == nullptr) {
    EXPUNGE_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      EXPUNGE_UNROLL
      for (size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
    }
  } else {
    const T* init = x.init + row * x.init_stride + vector * kLanes;
    EXPUNGE_UNROLL
    for (size_t r = 0; r < kRows; ++r, init += x.init_stride) {
      EXPUNGE_UNROLL
      for (size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::LoadU(d, init + v * kLanes);
    }
  }
  const T* a[kRows];
  EXPUNGE_UNROLL
  for (size_t r = 0; r < kRows; ++r) a[r] = x.a + (row + r) * x.a_stride;
  for (size_t s = 0; s < x.steps; ++s) {
    hn::Vec<D> column[kVectors];
    EXPUNGE_UNROLL
    for (size_t v = 0; v < kVectors; ++v) {
      column[v] = hn::Load(d, b[v]);
      b[v] += x.b_step;
    }
    EXPUNGE_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      const auto element = hn::Set(d, a[r][s]);
      EXPUNGE_UNROLL
      for (size_t v = 0; v < kVectors; ++v) sums[r][v] = Step::Add(sums[r][v], element, column[v]);
    }
  }
  T* out = x.out + row * x.out_stride + vector * kLanes;
  EXPUNGE_UNROLL
  for (size_t r = 0; r < kRows; ++r, out += x.out_stride) {
    EXPUNGE_UNROLL
    for (size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(ending(d, sums[r][v], row + r, (vector + v) * kLanes), d, out + v * kLanes);
    }
  }
}

// Vectors [begin, end) of some rows, by tiles of kVectors and then of half of that.
template <class Step, size_t kRows, size_t kVectors, class D, class Ending, typename T = hn::TFromD<D>>
HWY_INLINE void Vectors(D d, const Product<T>& x, const Ending& ending, size_t row, size_t begin,
                        size_t end) {
  for (; begin + kVectors <= end; begin += kVectors) {
    Tile<Step, kRows, kVectors>(d, x, ending, row, begin);
  }
  if constexpr (kVectors > 1) {
    if (begin < end) Vectors<Step, kRows, kVectors / 2>(d, x, ending, row, begin, end);
  }
}

// Vectors [begin, end) of all rows from `row` on, by tiles of kRows and then of half of that.
template <class Step, size_t kRows, class D, class Ending, typename T = hn::TFromD<D>>
HWY_INLINE void Rows(D d, const Product<T>& x, const Ending& ending, size_t row, size_t rows, size_t begin,
                     size_t end) {
  constexpr size_t kVectors = HWY_MIN(kMaxVectors, kMaxSums / kRows);
  for (; row + kRows <= rows; row += kRows) {
    Vectors<Step, kRows, kVectors>(d, x, ending, row, begin, end);
  }
  if constexpr (kRows > 1) {
    if (row < rows) Rows<Step, kRows / 2>(d, x, ending, row, rows, begin, end);
  }
}

// Vectors [begin, end) of `rows` rows of the product.
template <class Step, class D, class Ending, typename T = hn::TFromD<D>>
HWY_INLINE void Multiply(D d, const Product<T>& x, const Ending& ending, size_t rows, size_t begin,
                         size_t end) {
  Rows<Step, kMaxRows>(d, x, ending, 0, rows, begin, end);
}

// Overwrites `count` elements, rounded up to whole vectors, with zeros, also where nothing reads them again.
// Wipe() is for more than a few vectors: here its call would cost most of the time.
template <typename T>
HWY_INLINE void Clear(T* begin, size_t count) {
  const hn::ScalableTag<T> d;
  for (size_t i = 0; i < count; i += hn::MaxLanes(d)) {
    hn::Store(hn::Zero(d), d, begin + i);
    asm volatile("" : : : "memory");  // no store is left out, and GCC does not make a `rep stos` of the loop
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace expunge::attention::cpu
HWY_AFTER_NAMESPACE();

#endif  // EXPUNGE_ATTENTION_CPU_TILE_INL_H_
