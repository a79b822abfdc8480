// Fast readouts of a few queries from one memory, by the best vector unit of this processor.
//
// Queries are rows, tokens lanes: the exponents of a block of tokens stay in the first cache, their powers of
// two follow in place, and then value dimensions are lanes. Blocks are joined by a running maximum.
#ifndef EXPUNGE_ATTENTION_CPU_FAST_ROWS_H_
#define EXPUNGE_ATTENTION_CPU_FAST_ROWS_H_

#include <cstddef>

#include "attention/error_bound.h"
#include "attention/packed_support.h"
#include "base/secret.h"

namespace expunge::attention::cpu {

inline constexpr size_t kFastRows = 32;     // at most so many queries at once
inline constexpr size_t kFastTokens = 256;  // and so many tokens a block

// What one thread needs for its rows. Grows to what was needed most; all zeros between two calls.
template <typename T>
struct FastScratch {
  SecretArray<T> centred;  // q - c
  SecretArray<T> weights;  // exponents, then powers of two, of one block
  SecretArray<T> sums;     // of values, not yet divided
  SecretArray<T> rows;     // maxima and sums of each row
  SecretArray<double> decisions;
};

// T: float or double. Q: type of the queries, float or double.
template <typename T, typename Q>
struct FastRows {
  size_t rows = 0;             // <= kFastRows
  const Q* queries = nullptr;  // rows x key_dimension
  T* outputs = nullptr;        // rows x value_dimension
  double* decision_values = nullptr;
  double* query_norms = nullptr;  // |q - c|_2, for FastErrorBound::At
};

// Reads `rows`. Cost: 2 rows m (d + dv) flops.
template <typename T, typename Q>
void ReadFastRows(const FastSupport<T>& support, const FastRows<T, Q>& rows, FastScratch<T>* scratch);

// How ReadFastRows computes.
template <typename T>
[[nodiscard]] FastArithmetic FastArithmeticOf(const ReadoutShape& shape);

// The name of the vector unit in use, such as "AVX3".
[[nodiscard]] const char* VectorUnit();

}  // namespace expunge::attention::cpu

#endif  // EXPUNGE_ATTENTION_CPU_FAST_ROWS_H_
