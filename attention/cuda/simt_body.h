// The readout kernel in floats, by plain multiply-adds.
//
// A block of 4 warps has 64 queries and tiles of 128 tokens. Both products, S = bias + Z Y' and O += P U, are
// sums of outer products: a column of 64 numbers (queries, or weights of one token) with a row of 128
// (tokens, or value columns). Warps lie 2 x 2 over the 64 x 128 numbers, threads 4 x 8 over a warp's 32 x 64,
// and each thread has 8 x 8 of them: rows 4 + 4, columns 4 + 4, so that a warp reads 128 bytes in sequence.
// Keys and values come in chunks of 32 rows through two buffers, the next one on its way while one is used.
#ifndef EXPUNGE_ATTENTION_CUDA_SIMT_BODY_H_
#define EXPUNGE_ATTENTION_CUDA_SIMT_BODY_H_

#include "attention/cuda/launch.h"
#include "attention/cuda/portable.h"

namespace expunge::attention::cuda {

inline constexpr int kSimtThreads = 128;
inline constexpr int kSimtRows = 64;
inline constexpr int kSimtTokens = 128;
inline constexpr int kSimtChunk = 32;  // key dimensions or tokens of a chunk

EXPUNGE_HOST_DEVICE uint32_t SimtSharedBytes(uint32_t key_dimension) {
  // Queries, weights, two chunks, and the maxima and sums of two warps for each row.
  return (key_dimension * kSimtRows + kSimtTokens * kSimtRows + 2 * kSimtChunk * kSimtTokens +
          2 * kSimtRows) *
         sizeof(float);
}

// kColumns: 64 or 128 columns of the values in a tile.
template <int kColumns, class Context>
class SimtReadout {
 public:
  EXPUNGE_KERNEL_CODE SimtReadout(Context& context, const Group& group, const Tile& tile)
      : context_(context),
        group_(group),
        tile_(tile),
        queries_(reinterpret_cast<float*>(context.Shared())),
        weights_(queries_ + group.padded_key_dimension * kSimtRows),
        chunks_(weights_ + kSimtTokens * kSimtRows),
        exchange_(chunks_ + 2 * kSimtChunk * kSimtTokens),
        warp_column_(context.Thread() / 32 % 2),
        lane_row_(context.Thread() / 64 * 32 + context.Thread() % 32 / 8 * 4),
        lane_column_(context.Thread() % 8 * 4),
        rows_active_(tile.first_row + context.Thread() / 64 * 32 < group.rows) {}

  EXPUNGE_KERNEL_CODE void Run() {
    LoadChunk(0, 0);
    LoadQueries();
    uint32_t buffer = 0;
    const uint32_t key_chunks = group_.padded_key_dimension / kSimtChunk;
    for (uint32_t token = 0; token < group_.tokens; token += kSimtTokens) {
      const uint32_t value_chunks = ValueChunks(token);
      // Beyond the last token there is nothing to compute: whole halves of small tiles.
      const bool active = rows_active_ && token + 64 * warp_column_ < group_.tokens;
      StartLogits(token);
      for (uint32_t c = 0; c < key_chunks; ++c, buffer ^= 1) {
        NextChunk(token, c + 1, buffer);
        if (active)
          MultiplyAdd<8>(s_, queries_ + c * kSimtChunk * kSimtRows, Chunk(buffer), kSimtChunk, kSimtTokens);
      }
      Softmax(active);
      for (uint32_t c = 0; c < value_chunks; ++c, buffer ^= 1) {
        NextChunk(token, key_chunks + c + 1, buffer);
        const uint32_t left = group_.tokens - token - c * kSimtChunk;
        const uint32_t length = left < kSimtChunk ? left : kSimtChunk;
        if (rows_active_) {
          MultiplyAdd<kOwned>(o_, weights_ + c * kSimtChunk * kSimtRows, Chunk(buffer), length, kColumns);
        }
      }
    }
    Finish();
  }

 private:
  static constexpr int kOwned = kColumns / 16;  // value columns of a thread

  EXPUNGE_KERNEL_CODE float* Chunk(uint32_t buffer) { return chunks_ + buffer * kSimtChunk * kSimtTokens; }
  EXPUNGE_KERNEL_CODE uint32_t ValueChunks(uint32_t token) {
    const uint32_t left = group_.tokens - token;
    return ((left < kSimtTokens ? left : kSimtTokens) + kSimtChunk - 1) / kSimtChunk;
  }

  // Waits for the current chunk, which fills `buffer`, and sends for the one that is `index` in the order of
  // the tile at `token`: its key chunks, its value chunks, then those of the next tile.
  EXPUNGE_KERNEL_CODE void NextChunk(uint32_t token, uint32_t index, uint32_t buffer) {
    context_.template WaitForCopies<0>();
    context_.SyncBlock();  // the chunk is there for all, and the other buffer is free
    const uint32_t chunks = group_.padded_key_dimension / kSimtChunk + ValueChunks(token);
    const uint32_t next_token = token + kSimtTokens;
    if (index < chunks) {
      Send(token, index, buffer ^ 1);
    } else if (next_token < group_.tokens) {
      Send(next_token, 0, buffer ^ 1);
    }
  }
  EXPUNGE_KERNEL_CODE void LoadChunk(uint32_t token, uint32_t index) { Send(token, index, 0); }

  EXPUNGE_KERNEL_CODE void Send(uint32_t token, uint32_t index, uint32_t buffer) {
    float* to = Chunk(buffer);
    const uint32_t key_chunks = group_.padded_key_dimension / kSimtChunk;
    if (index < key_chunks) {
      // Keys: [tile][key dimension][128 tokens], a chunk in one piece.
      const float* from = static_cast<const float*>(group_.keys) +
                          size_t{token} * group_.padded_key_dimension +
                          size_t{index} * kSimtChunk * kSimtTokens;
      for (uint32_t i = context_.Thread(); i < kSimtChunk * kSimtTokens / 4; i += kSimtThreads) {
        context_.CopyAsync(to + i * 4, from + i * 4);
      }
    } else {
      // Values: rows of padded_value_dimension. Columns beyond it are 0.
      const size_t stride = group_.padded_value_dimension;
      const float* from = static_cast<const float*>(group_.values) +
                          (token + (index - key_chunks) * kSimtChunk) * stride + tile_.first_column;
      const uint32_t columns = group_.padded_value_dimension - tile_.first_column;
      for (uint32_t i = context_.Thread(); i < kSimtChunk * kColumns / 4; i += kSimtThreads) {
        const uint32_t row = i / (kColumns / 4);
        const uint32_t column = i % (kColumns / 4) * 4;
        if (column < columns) {
          context_.CopyAsync(to + row * kColumns + column, from + row * stride + column);
        } else {
          context_.Store(to + row * kColumns + column, Quad{});
        }
      }
    }
    context_.CommitCopies();
  }

  // Transposed: queries_[k][row].
  EXPUNGE_KERNEL_CODE void LoadQueries() {
    const uint32_t row = context_.Thread() % kSimtRows;
    const bool present = tile_.first_row + row < group_.rows;
    const float* from = static_cast<const float*>(group_.queries) +
                        size_t{tile_.first_row + row} * group_.padded_key_dimension;
    for (uint32_t k = context_.Thread() / kSimtRows * 4; k < group_.padded_key_dimension;
         k += kSimtThreads / kSimtRows * 4) {
      float piece[4] = {0, 0, 0, 0};
      if (present) context_.LoadFloats(piece, from + k);
      EXPUNGE_UNROLL
      for (int e = 0; e < 4; ++e) queries_[(k + e) * kSimtRows + row] = piece[e];
    }
  }

  // sums[i][j] += sum over k < length of a[k][row i] b[k][column j].
  template <int kCount>
  EXPUNGE_KERNEL_CODE void MultiplyAdd(float (&sums)[8][kCount], const float* a, const float* b,
                                       uint32_t length, uint32_t stride) {
    a += lane_row_;
    b += warp_column_ * (8 * kCount) + lane_column_;
#if defined(__CUDACC__)
#pragma unroll 4
#endif
    for (uint32_t k = 0; k < length; ++k) {
      float left[8];
      float right[kCount];
      context_.LoadFloats(left, a + k * kSimtRows);
      context_.LoadFloats(left + 4, a + k * kSimtRows + 16);
      context_.LoadFloats(right, b + k * stride);
      if constexpr (kCount == 8) context_.LoadFloats(right + 4, b + k * stride + 32);
      EXPUNGE_UNROLL
      for (int i = 0; i < 8; ++i) {
        EXPUNGE_UNROLL
        for (int j = 0; j < kCount; ++j) sums[i][j] += left[i] * right[j];
      }
    }
  }
  // Row i and column j of this thread's 8 x 8.
  EXPUNGE_KERNEL_CODE uint32_t Row(int i) { return lane_row_ + (i < 4 ? i : 12 + i); }
  EXPUNGE_KERNEL_CODE uint32_t TokenOf(int j) {
    return warp_column_ * 64 + lane_column_ + (j < 4 ? j : 28 + j);
  }
  EXPUNGE_KERNEL_CODE uint32_t ColumnOf(int j) {
    return warp_column_ * (8 * kOwned) + lane_column_ + (j < 4 ? j : 28 + j);
  }

  EXPUNGE_KERNEL_CODE void StartLogits(uint32_t token) {
    const float* bias = static_cast<const float*>(group_.bias) + token;
    EXPUNGE_UNROLL
    for (int j = 0; j < 8; ++j) {
      const float b = bias[TokenOf(j)];
      EXPUNGE_UNROLL
      for (int i = 0; i < 8; ++i) s_[i][j] = b;
    }
  }

  // s_ to weights in shared memory. All warps take part, as two of them share each row.
  EXPUNGE_KERNEL_CODE void Softmax(bool active) {
    float largest[8];
    EXPUNGE_UNROLL
    for (int i = 0; i < 8; ++i) {
      largest[i] = s_[i][0];
      EXPUNGE_UNROLL
      for (int j = 1; j < 8; ++j) largest[i] = s_[i][j] > largest[i] ? s_[i][j] : largest[i];
      EXPUNGE_UNROLL
      for (int mask = 1; mask < 8; mask *= 2) {
        const float other = context_.ShuffleXor(largest[i], mask);
        largest[i] = other > largest[i] ? other : largest[i];
      }
      if (lane_column_ == 0) exchange_[warp_column_ * kSimtRows + Row(i)] = largest[i];
    }
    context_.SyncBlock();
    EXPUNGE_UNROLL
    for (int i = 0; i < 8; ++i) {
      const float other = exchange_[(warp_column_ ^ 1) * kSimtRows + Row(i)];
      float next = largest_[i];
      next = largest[i] > next ? largest[i] : next;
      next = other > next ? other : next;
      const float factor = context_.Exp2(largest_[i] - next);
      largest_[i] = next;
      float sum = 0;
      EXPUNGE_UNROLL
      for (int j = 0; j < 8; ++j) {
        s_[i][j] = context_.Exp2(s_[i][j] - next);
        sum += s_[i][j];
      }
      sum_[i] = sum_[i] * factor + sum;
      EXPUNGE_UNROLL
      for (int j = 0; j < kOwned; ++j) o_[i][j] *= factor;
    }
    if (!active) return;  // the tokens that it has are not read by anybody
    EXPUNGE_UNROLL
    for (int j = 0; j < 8; ++j) {
      float* row = weights_ + TokenOf(j) * kSimtRows + lane_row_;
      context_.StoreFloats(row, s_[0][j], s_[1][j], s_[2][j], s_[3][j]);
      context_.StoreFloats(row + 16, s_[4][j], s_[5][j], s_[6][j], s_[7][j]);
    }
  }

  EXPUNGE_KERNEL_CODE void Finish() {
    EXPUNGE_UNROLL
    for (int i = 0; i < 8; ++i) {
      EXPUNGE_UNROLL
      for (int mask = 1; mask < 8; mask *= 2) sum_[i] += context_.ShuffleXor(sum_[i], mask);
    }
    // The last maxima have been read: there was a barrier before the values.
    EXPUNGE_UNROLL
    for (int i = 0; i < 8; ++i) {
      if (lane_column_ == 0) exchange_[warp_column_ * kSimtRows + Row(i)] = sum_[i];
    }
    context_.SyncBlock();
    const float* centre = static_cast<const float*>(group_.value_centre);
    const auto scale = static_cast<float>(group_.value_scale);
    EXPUNGE_UNROLL
    for (int i = 0; i < 8; ++i) {
      const uint32_t row = tile_.first_row + Row(i);
      if (row >= group_.rows) continue;
      const float sum = exchange_[Row(i)] + exchange_[kSimtRows + Row(i)];
      const float inverse = 1 / sum;
      if (tile_.first_column == 0 && warp_column_ == 0 && lane_column_ == 0) {
        float* sums = static_cast<float*>(group_.sums) + size_t{2} * row;
        sums[0] = sum;
        sums[1] = largest_[i];
      }
      float* output = static_cast<float*>(group_.outputs) + size_t{row} * group_.value_dimension;
      EXPUNGE_UNROLL
      for (int j = 0; j < kOwned; ++j) {
        const uint32_t column = tile_.first_column + ColumnOf(j);
        if (column < group_.value_dimension) output[column] = centre[column] + scale * (o_[i][j] * inverse);
      }
    }
  }

  Context& context_;
  const Group& group_;
  const Tile& tile_;
  float* const queries_;   // [key dimension][64]
  float* const weights_;   // [128 tokens][64]
  float* const chunks_;    // two of [32][128]
  float* const exchange_;  // [2][64]
  const uint32_t warp_column_;
  const uint32_t lane_row_;
  const uint32_t lane_column_;
  const bool rows_active_;
  float s_[8][8];
  float o_[8][kOwned] = {};
  float largest_[8] = {-kInfinity, -kInfinity, -kInfinity, -kInfinity,
                       -kInfinity, -kInfinity, -kInfinity, -kInfinity};
  float sum_[8] = {};
  static constexpr float kInfinity = __builtin_huge_valf();
};

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_SIMT_BODY_H_
