// What the kernels on tensor cores do with the result of a product. A thread has parts of two rows: of each
// block of 8 columns the columns 2 lane4 and the next, elements 0 and 1 of the low row, 2 and 3 of the high
// one (half 1), which is 8 below. Four threads, lane4 = 0 to 3, share each row.
#ifndef EXPUNGE_ATTENTION_CUDA_ROW_PAIR_H_
#define EXPUNGE_ATTENTION_CUDA_ROW_PAIR_H_

#include "attention/cuda/launch.h"
#include "attention/cuda/portable.h"

namespace expunge::attention::cuda {

// The softmax of one row so far.
template <typename A>
struct RowSums {
  A largest = -__builtin_huge_valf();  // the same in all four threads
  A sum = 0;                           // of this thread's weights
};

// Turns the logits of row `half` into weights, takes them into `row`, and returns by which factor everything
// that was added up before is to be multiplied.
template <typename A, int kBlocks, class Context>
EXPUNGE_KERNEL_CODE A Weigh(Context& context, int half, A (&s)[kBlocks][4], RowSums<A>* row) {
  A largest = row->largest;
  EXPUNGE_UNROLL
  for (int b = 0; b < kBlocks; ++b) {
    largest = s[b][2 * half] > largest ? s[b][2 * half] : largest;
    largest = s[b][2 * half + 1] > largest ? s[b][2 * half + 1] : largest;
  }
  EXPUNGE_UNROLL
  for (int mask = 1; mask < 4; mask *= 2) {
    const A other = context.ShuffleXor(largest, mask);
    largest = other > largest ? other : largest;
  }
  const A factor = context.Exp2(row->largest - largest);
  row->largest = largest;
  A sum = 0;
  EXPUNGE_UNROLL
  for (int b = 0; b < kBlocks; ++b) {
    s[b][2 * half] = context.Exp2(s[b][2 * half] - largest);
    s[b][2 * half + 1] = context.Exp2(s[b][2 * half + 1] - largest);
    sum += s[b][2 * half] + s[b][2 * half + 1];
  }
  row->sum = row->sum * factor + sum;
  return factor;
}

// Writes what belongs to both rows, of which `first` is the low one in the group. `o`: sums of the weighted
// values.
template <typename A, int kBlocks, class Context>
EXPUNGE_KERNEL_CODE void WriteRows(Context& context, const Group& group, const Tile& tile, uint32_t first,
                                   const RowSums<A> (&rows)[2], const A (&o)[kBlocks][4]) {
  const uint32_t lane4 = context.Thread() % 4;
  EXPUNGE_UNROLL
  for (int half = 0; half < 2; ++half) {
    A sum = rows[half].sum;
    sum += context.ShuffleXor(sum, 1);
    sum += context.ShuffleXor(sum, 2);
    const A inverse = 1 / sum;
    const uint32_t row = first + 8 * half;
    if (row >= group.rows) continue;
    if (lane4 == 0 && tile.first_column == 0) {
      A* sums = static_cast<A*>(group.sums) + size_t{2} * row;
      sums[0] = sum;
      sums[1] = rows[half].largest;
    }
    const A scale = static_cast<A>(group.value_scale);
    const A* centre = static_cast<const A*>(group.value_centre);
    A* output = static_cast<A*>(group.outputs) + size_t{row} * group.value_dimension;
    EXPUNGE_UNROLL
    for (int b = 0; b < kBlocks; ++b) {
      EXPUNGE_UNROLL
      for (int e = 0; e < 2; ++e) {
        const uint32_t column = tile.first_column + 8 * b + 2 * lane4 + e;
        if (column < group.value_dimension) {
          output[column] = centre[column] + scale * (o[b][2 * half + e] * inverse);
        }
      }
    }
  }
}

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_ROW_PAIR_H_
