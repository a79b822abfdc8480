#include "bench/readout/softmax_rows.h"

#include <cmath>

namespace expunge::bench {
namespace {

template <typename T>
void Softmax(size_t rows, size_t columns, T* logits) {
  for (size_t r = 0; r < rows; ++r) {
    T* row = logits + r * columns;
    T largest = row[0];
    for (size_t i = 1; i < columns; ++i) largest = row[i] > largest ? row[i] : largest;
    T total = 0;
    for (size_t i = 0; i < columns; ++i) {
      row[i] = std::exp(row[i] - largest);
      total += row[i];
    }
    const T factor = 1 / total;
    for (size_t i = 0; i < columns; ++i) row[i] *= factor;
  }
}

}  // namespace

void SoftmaxRows(size_t rows, size_t columns, float* logits) { Softmax(rows, columns, logits); }
void SoftmaxRows(size_t rows, size_t columns, double* logits) { Softmax(rows, columns, logits); }

}  // namespace expunge::bench
