// The readout kernel on tensor cores by mma.sync, for doubles and bfloat16 (any device from compute
// capability 8.0).
//
// A warp owns 16 queries and all tokens and value columns of its block's tile; warps share what they load.
// For each tile of tokens: S = bias + Z Y' (logits in registers), online softmax, O = O 2^(L_old - L_new) + P
// U. P goes from the accumulators of the first product to the operand of the second without moving.
//
// Layout.  A thread loads 16 bytes at a time, and 4 threads 64 bytes: one *group* along the summed dimension
// (8 doubles or 32 bfloat16). A sum has no order, so that both operands may permute it alike: thread j of
// the four takes elements j R .. j R + R-1 of a group, R = 16 / sizeof(T), whatever the instruction calls
// them. Likewise the tokens of a group are given to the columns of S so that thread j, which gets columns 2j
// and 2j+1 of each block of 8, ends up with tokens j R .. j R + R-1 of the group: its part of operand P.
// Rows in shared memory are 64 bytes modulo 128 apart: 8 threads that load together meet all 32 banks.
#ifndef EXPUNGE_ATTENTION_CUDA_MMA_BODY_H_
#define EXPUNGE_ATTENTION_CUDA_MMA_BODY_H_

#include "attention/cuda/launch.h"
#include "attention/cuda/portable.h"
#include "attention/cuda/row_pair.h"

namespace expunge::attention::cuda {

template <typename T>
struct MmaTraits;

template <>
struct MmaTraits<double> {
  using Accumulator = double;
  static constexpr int kTokens = 32;  // of a tile
  static constexpr int kMostThreads = 256;
};

template <>
struct MmaTraits<Bf16> {
  using Accumulator = float;
  static constexpr int kTokens = 64;
  static constexpr int kMostThreads = 128;
};

inline constexpr int kGroupBytes = 64;
inline constexpr int kRowsPerWarp = 16;

// Bytes from one row in shared memory to the next. REQUIRES: a multiple of 64.
EXPUNGE_HOST_DEVICE uint32_t MmaStride(uint32_t bytes) { return bytes % 128 == 0 ? bytes + 64 : bytes; }

template <typename T>
EXPUNGE_HOST_DEVICE uint32_t MmaSharedBytes(uint32_t warps, uint32_t key_dimension, uint32_t value_columns) {
  const uint32_t key_stride = MmaStride(key_dimension * sizeof(T));
  const uint32_t token_stride = MmaStride(MmaTraits<T>::kTokens * sizeof(T));
  return (warps * kRowsPerWarp + MmaTraits<T>::kTokens) * key_stride + value_columns * token_stride;
}

// The token of a tile that column `column` of block `block` of S stands for.
template <typename T>
EXPUNGE_HOST_DEVICE int MmaToken(int block, int column) {
  constexpr int kRun = 16 / sizeof(T);
  constexpr int kBlocks = kRun / 2;  // of a group
  return block / kBlocks * 4 * kRun + column / 2 * kRun + block % kBlocks * 2 + column % 2;
}

template <typename T, int kColumns, class Context>
class MmaReadout {
 public:
  using A = typename MmaTraits<T>::Accumulator;
  static constexpr int kTokens = MmaTraits<T>::kTokens;
  static constexpr int kRun = 16 / sizeof(T);
  static constexpr int kTokenBlocks = kTokens / 8;
  static constexpr int kTokenGroups = kTokens / (4 * kRun);
  static constexpr int kBlocksPerGroup = kRun / 2;
  static constexpr int kValueBlocks = kColumns / 8;

  EXPUNGE_KERNEL_CODE MmaReadout(Context& context, const Group& group, const Tile& tile)
      : context_(context),
        group_(group),
        tile_(tile),
        key_bytes_(group.padded_key_dimension * sizeof(T)),
        key_stride_(MmaStride(key_bytes_)),
        queries_(context.Shared()),
        keys_(queries_ + context.Threads() / 32 * kRowsPerWarp * key_stride_),
        values_(keys_ + kTokens * key_stride_),
        row_(context.Thread() / 32 * kRowsPerWarp + context.Thread() % 32 / 4),
        lane4_(context.Thread() % 4),
        // Warps without queries only help to load.
        active_(tile.first_row + context.Thread() / 32 * kRowsPerWarp < group.rows) {}

  EXPUNGE_KERNEL_CODE void Run() {
    LoadQueries();
    LoadKeys(0);
    context_.CommitCopies();
    LoadValues(0);
    context_.CommitCopies();
    for (uint32_t token = 0; token < group_.tokens; token += kTokens) {
      const uint32_t next = token + kTokens;
      context_.template WaitForCopies<1>();  // the keys; the values may be on their way
      context_.SyncBlock();
      if (active_) Logits(token);
      context_.SyncBlock();
      if (next < group_.tokens) LoadKeys(next);
      context_.CommitCopies();
      if (active_) Softmax();
      context_.template WaitForCopies<1>();
      context_.SyncBlock();
      if (active_) AddValues();
      context_.SyncBlock();
      if (next < group_.tokens) LoadValues(next);
      context_.CommitCopies();
    }
    if (active_) WriteRows(context_, group_, tile_, tile_.first_row + row_, sums_, o_);
  }

 private:
  // Copies rows of `bytes`, 16 bytes a thread.
  EXPUNGE_KERNEL_CODE void CopyRows(char* to, uint32_t to_stride, const char* from, size_t from_stride,
                                    uint32_t rows, uint32_t bytes) {
    const uint32_t pieces = bytes / 16;
    for (uint32_t i = context_.Thread(); i < rows * pieces; i += context_.Threads()) {
      const uint32_t row = i / pieces;
      const uint32_t piece = i % pieces;
      context_.CopyAsync(to + row * to_stride + piece * 16, from + row * from_stride + piece * 16);
    }
  }
  EXPUNGE_KERNEL_CODE void ClearRows(char* to, uint32_t stride, uint32_t first, uint32_t end,
                                     uint32_t bytes) {
    const uint32_t pieces = bytes / 16;
    for (uint32_t i = context_.Thread() + first * pieces; i < end * pieces; i += context_.Threads()) {
      context_.Store(to + i / pieces * stride + i % pieces * 16, Quad{});
    }
  }

  EXPUNGE_KERNEL_CODE void LoadQueries() {
    const uint32_t capacity = context_.Threads() / 32 * kRowsPerWarp;
    const uint32_t left = group_.rows - tile_.first_row;
    const uint32_t rows = left < capacity ? left : capacity;
    CopyRows(queries_, key_stride_,
             static_cast<const char*>(group_.queries) + size_t{tile_.first_row} * key_bytes_, key_bytes_,
             rows, key_bytes_);
    ClearRows(queries_, key_stride_, rows, capacity, key_bytes_);
  }
  EXPUNGE_KERNEL_CODE void LoadKeys(uint32_t token) {
    CopyRows(keys_, key_stride_, static_cast<const char*>(group_.keys) + size_t{token} * key_bytes_,
             key_bytes_, kTokens, key_bytes_);
  }
  // Values are transposed: a row for each column of the values.
  EXPUNGE_KERNEL_CODE void LoadValues(uint32_t token) {
    const size_t from_stride = size_t{group_.padded_tokens} * sizeof(T);
    const uint32_t left = group_.padded_value_dimension - tile_.first_column;
    const uint32_t rows = left < kColumns ? left : kColumns;
    CopyRows(values_, kValueStride,
             static_cast<const char*>(group_.values) + tile_.first_column * from_stride + token * sizeof(T),
             from_stride, rows, kTokens * sizeof(T));
    ClearRows(values_, kValueStride, rows, kColumns, kTokens * sizeof(T));
  }

  EXPUNGE_KERNEL_CODE void Logits(uint32_t first_token) {
    const A* bias = static_cast<const A*>(group_.bias) + first_token;
    EXPUNGE_UNROLL
    for (int b = 0; b < kTokenBlocks; ++b) {
      const int token = MmaToken<T>(b, 2 * lane4_);
      s_[b][0] = s_[b][2] = bias[token];
      s_[b][1] = s_[b][3] = bias[token + 1];
    }
    const char* z = queries_ + row_ * key_stride_ + lane4_ * 16;
    const char* y = keys_ + MmaToken<T>(0, context_.Thread() % 32 / 4) * key_stride_ + lane4_ * 16;
    for (uint32_t k = 0; k < key_bytes_; k += kGroupBytes) {
      const Quad low = context_.Load(z + k);
      const Quad high = context_.Load(z + 8 * key_stride_ + k);
      EXPUNGE_UNROLL
      for (int b = 0; b < kTokenBlocks; ++b) {
        const Quad key = context_.Load(y + MmaToken<T>(b, 0) * key_stride_ + k);
        context_.template MultiplyAdd<T>(s_[b], low, high, key);
      }
    }
  }

  EXPUNGE_KERNEL_CODE void Softmax() {
    EXPUNGE_UNROLL
    for (int half = 0; half < 2; ++half) {
      const A factor = Weigh(context_, half, s_, &sums_[half]);
      EXPUNGE_UNROLL
      for (int b = 0; b < kValueBlocks; ++b) {
        o_[b][2 * half] *= factor;
        o_[b][2 * half + 1] *= factor;
      }
    }
  }

  EXPUNGE_KERNEL_CODE void AddValues() {
    const char* u = values_ + context_.Thread() % 32 / 4 * kValueStride + lane4_ * 16;
    EXPUNGE_UNROLL
    for (int g = 0; g < kTokenGroups; ++g) {
      const Quad low = Weights(g, 0);
      const Quad high = Weights(g, 1);
      EXPUNGE_UNROLL
      for (int b = 0; b < kValueBlocks; ++b) {
        const Quad value = context_.Load(u + b * 8 * kValueStride + g * kGroupBytes);
        context_.template MultiplyAdd<T>(o_[b], low, high, value);
      }
    }
  }
  // This thread's tokens of a group, as they meet the values.
  EXPUNGE_KERNEL_CODE Quad Weights(int group, int half) {
    Quad quad;
    if constexpr (sizeof(T) == 8) {
      const double pair[2] = {s_[group][2 * half], s_[group][2 * half + 1]};
      quad = BitCast<Quad>(pair);
    } else {
      EXPUNGE_UNROLL
      for (int i = 0; i < kBlocksPerGroup; ++i) {
        const A* s = s_[group * kBlocksPerGroup + i] + 2 * half;
        quad.word[i] = context_.PackBf16(s[0], s[1]);
      }
    }
    return quad;
  }

  static constexpr uint32_t kValueStride =
      kTokens * sizeof(T) % 128 == 0 ? kTokens * sizeof(T) + 64 : kTokens * sizeof(T);

  Context& context_;
  const Group& group_;
  const Tile& tile_;
  const uint32_t key_bytes_;
  const uint32_t key_stride_;
  char* const queries_;
  char* const keys_;
  char* const values_;
  const uint32_t row_;  // of the tile; this thread has it and the one 8 below
  const uint32_t lane4_;
  const bool active_;
  A s_[kTokenBlocks][4];  // logits, then weights
  A o_[kValueBlocks][4] = {};
  RowSums<A> sums_[2];
};

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_MMA_BODY_H_
