#ifndef EXPUNGE_BENCH_READOUT_SOFTMAX_ROWS_H_
#define EXPUNGE_BENCH_READOUT_SOFTMAX_ROWS_H_

#include <cstddef>

namespace expunge::bench {

// Replaces each row of `rows` x `columns` logits, row-major, by its softmax. Compiled for this very machine,
// and with fast-math: a baseline must not be slow for want of options.
void SoftmaxRows(size_t rows, size_t columns, float* logits);
void SoftmaxRows(size_t rows, size_t columns, double* logits);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_READOUT_SOFTMAX_ROWS_H_
