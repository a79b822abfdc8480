// The readout kernel in bfloat16 on the tensor cores of Hopper (compute capability 9.0), by wgmma.
//
// A warpgroup of 4 warps has 64 queries; a block has as many warpgroups as its tile has rows for, and tiles
// of 64 tokens. Logits of the next tile are multiplied while the softmax of this one is computed:
//     wait for keys t+1 and values t, send for keys t+2 and values t+1 (two buffers each, one barrier)
//     start S(t+1) = bias + Z Y'        (asynchronous)
//     softmax of S(t), O = O 2^(L_old - L_new)
//     start O += P U, wait for both
// P stays in registers: what a thread has of the result of one product is what it has to give to the next.
//
// Layout.  Operands in shared memory lie in panels of 64 columns: rows of 128 bytes, in which 16-byte piece c
// of row r is at c xor (r mod 8) (the 128-byte swizzle). The summed dimension is contiguous in all of them,
// as values are transposed. A step of 16 columns is 32 bytes further on in a panel.
#ifndef EXPUNGE_ATTENTION_CUDA_HOPPER_BODY_H_
#define EXPUNGE_ATTENTION_CUDA_HOPPER_BODY_H_

#include "attention/cuda/launch.h"
#include "attention/cuda/portable.h"
#include "attention/cuda/row_pair.h"

namespace expunge::attention::cuda {

inline constexpr int kHopperTokens = 64;
inline constexpr int kHopperWarpgroups = 2;  // of a block, at most
inline constexpr int kWarpgroupThreads = 128;
inline constexpr int kWarpgroupRows = 64;
inline constexpr uint32_t kPanelRowBytes = 128;
inline constexpr uint32_t kPanelColumns = 64;

EXPUNGE_HOST_DEVICE uint32_t HopperSharedBytes(uint32_t warpgroups, uint32_t panels, uint32_t value_columns) {
  return (panels * (warpgroups * kWarpgroupRows + 2 * kHopperTokens) + 2 * value_columns) * kPanelRowBytes;
}

// Where 16-byte piece `piece` (of 8) of a panel's row is.
EXPUNGE_HOST_DEVICE uint32_t PanelOffset(uint32_t row, uint32_t piece) {
  return row * kPanelRowBytes + ((piece ^ (row % 8)) << 4);
}

// How wgmma is told where a panel is: its address in shared memory, 1024 bytes from 8 rows to the next, the
// 128-byte swizzle. The distance between columns does not count with this swizzle. REQUIRES: `address` is
// that of a panel, a multiple of 1024, or of a step of 16 columns in it.
EXPUNGE_HOST_DEVICE uint64_t PanelDescriptor(uint32_t address) {
  constexpr uint64_t kEightRows = uint64_t{1024 >> 4} << 32;
  constexpr uint64_t kColumns = uint64_t{1} << 16;
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62;
  return ((address & 0x3ffffU) >> 4) | kColumns | kEightRows | kSwizzle128;
}

// kPanels: of the keys, 1 or 2; what a group has less is 0. (With a loop of unknown length around them the
// compiler does not let products run on.)
template <int kColumns, uint32_t kPanels, class Context>
class HopperReadout {
 public:
  EXPUNGE_KERNEL_CODE HopperReadout(Context& context, const Group& group, const Tile& tile)
      : context_(context),
        group_(group),
        tile_(tile),
        row_bytes_(group.padded_key_dimension * 2),
        block_rows_(context.Threads() / kWarpgroupThreads * kWarpgroupRows),
        queries_(context.Shared()),
        keys_(queries_ + kPanels * block_rows_ * kPanelRowBytes),
        values_(keys_ + 2 * kPanels * kHopperTokens * kPanelRowBytes),
        warpgroup_row_(context.Thread() / kWarpgroupThreads * kWarpgroupRows),
        row_(context.Thread() / 32 * 16 + context.Thread() % 32 / 4),
        lane4_(context.Thread() % 4),
        active_(tile.first_row + context.Thread() / kWarpgroupThreads * kWarpgroupRows < group.rows) {}

  EXPUNGE_KERNEL_CODE void Run() {
    LoadQueries();
    LoadKeys(0);
    context_.CommitCopies();
    LoadKeys(1);
    LoadValues(0);
    context_.CommitCopies();
    context_.template WaitForCopies<1>();
    context_.FenceProducts();
    context_.SyncBlock();
    if (active_) FirstLogits();
    const uint32_t last = (group_.tokens - 1) / kHopperTokens;
    for (uint32_t t = 0; t < last; ++t) {
      NextBuffers(t);
      if (active_) Step(t);
    }
    NextBuffers(last);
    if (active_) {
      LastValues(last);
      WriteRows(context_, group_, tile_, tile_.first_row + row_, sums_, o_);
    }
  }

 private:
  static constexpr int kTokenBlocks = kHopperTokens / 8;
  static constexpr int kValueBlocks = kColumns / 8;

  EXPUNGE_KERNEL_CODE void LoadQueries() {
    const uint32_t left = group_.rows - tile_.first_row;
    LoadRows(queries_, block_rows_,
             static_cast<const char*>(group_.queries) + size_t{tile_.first_row} * row_bytes_, left);
  }
  // Rows of keys or queries to panels of `rows` rows; 0 from row `present` on.
  EXPUNGE_KERNEL_CODE void LoadRows(char* panels, uint32_t rows, const char* from, uint32_t present) {
    for (uint32_t i = context_.Thread(); i < rows * kPanels * 8; i += context_.Threads()) {
      const uint32_t row = i / (kPanels * 8);
      const uint32_t piece = i % (kPanels * 8);
      char* to = panels + piece / 8 * rows * kPanelRowBytes + PanelOffset(row, piece % 8);
      if (row < present && piece * 16 < row_bytes_) {
        context_.CopyAsync(to, from + size_t{row} * row_bytes_ + piece * 16);
      } else {
        context_.Store(to, Quad{});
      }
    }
  }

  EXPUNGE_KERNEL_CODE char* KeyBuffer(uint32_t t) {
    return keys_ + t % 2 * kPanels * kHopperTokens * kPanelRowBytes;
  }
  EXPUNGE_KERNEL_CODE char* ValueBuffer(uint32_t t) { return values_ + t % 2 * kColumns * kPanelRowBytes; }

  EXPUNGE_KERNEL_CODE void LoadKeys(uint32_t t) {
    if (t * kHopperTokens >= group_.tokens) return;
    LoadRows(KeyBuffer(t), kHopperTokens,
             static_cast<const char*>(group_.keys) + size_t{t} * kHopperTokens * row_bytes_, kHopperTokens);
  }

  EXPUNGE_KERNEL_CODE void LoadValues(uint32_t t) {
    if (t * kHopperTokens >= group_.tokens) return;
    const size_t row_bytes = size_t{group_.padded_tokens} * 2;
    const char* from = static_cast<const char*>(group_.values) + tile_.first_column * row_bytes +
                       size_t{t} * kHopperTokens * 2;
    const uint32_t rows = group_.padded_value_dimension - tile_.first_column;
    char* buffer = ValueBuffer(t);
    for (uint32_t i = context_.Thread(); i < kColumns * 8; i += context_.Threads()) {
      const uint32_t row = i / 8;
      const uint32_t piece = i % 8;
      if (row < rows) {
        context_.CopyAsync(buffer + PanelOffset(row, piece), from + row * row_bytes + piece * 16);
      } else {
        context_.Store(buffer + PanelOffset(row, piece), Quad{});
      }
    }
  }

  // All have keys t+1 and values t then, and are done with keys t and values t-1.
  EXPUNGE_KERNEL_CODE void NextBuffers(uint32_t t) {
    context_.template WaitForCopies<0>();
    context_.FenceProducts();
    context_.SyncBlock();
    LoadKeys(t + 2);
    LoadValues(t + 1);
    context_.CommitCopies();
  }

  EXPUNGE_KERNEL_CODE void SetToBias(uint32_t t) {
    const float* bias = static_cast<const float*>(group_.bias) + t * kHopperTokens + 2 * lane4_;
    EXPUNGE_UNROLL
    for (int b = 0; b < kTokenBlocks; ++b) {
      s_[b][0] = s_[b][2] = bias[8 * b];
      s_[b][1] = s_[b][3] = bias[8 * b + 1];
    }
  }
  EXPUNGE_KERNEL_CODE void StartLogits(uint32_t t) {
    const uint32_t queries = context_.SharedAddress(queries_ + warpgroup_row_ * kPanelRowBytes);
    const uint32_t keys = context_.SharedAddress(KeyBuffer(t));
    EXPUNGE_UNROLL
    for (uint32_t panel = 0; panel < kPanels; ++panel) {
      EXPUNGE_UNROLL
      for (uint32_t step = 0; step < kPanelColumns / 16; ++step) {
        context_.MultiplyShared(s_,
                                PanelDescriptor(queries + panel * block_rows_ * kPanelRowBytes + step * 32),
                                PanelDescriptor(keys + panel * kHopperTokens * kPanelRowBytes + step * 32));
      }
    }
    context_.CommitProducts();
  }
  EXPUNGE_KERNEL_CODE void StartValues(uint32_t t) {
    const uint32_t values = context_.SharedAddress(ValueBuffer(t));
    EXPUNGE_UNROLL
    for (int k = 0; k < kHopperTokens / 16; ++k) {
      context_.MultiplyRegisters(o_, weights_[k], PanelDescriptor(values + k * 32));
    }
    context_.CommitProducts();
  }

  EXPUNGE_KERNEL_CODE void FirstLogits() {
    SetToBias(0);
    context_.FenceRegisters(s_);
    context_.BeginProducts();
    StartLogits(0);
    context_.template WaitForProducts<0>();
    context_.FenceRegisters(s_);
    Softmax();
    PackWeights();
  }

  EXPUNGE_KERNEL_CODE void Step(uint32_t t) {
    SetToBias(t + 1);
    context_.FenceRegisters(s_);
    context_.FenceRegisters(o_);
    context_.BeginProducts();
    StartLogits(t + 1);
    StartValues(t);
    context_.template WaitForProducts<1>();
    context_.FenceRegisters(s_);
    Softmax();
    context_.Finished(sums_[0].sum + sums_[1].sum);  // the values are added meanwhile
    context_.template WaitForProducts<0>();
    context_.FenceRegisters(o_);
    Rescale();
    PackWeights();
  }

  EXPUNGE_KERNEL_CODE void LastValues(uint32_t t) {
    context_.FenceRegisters(o_);
    context_.BeginProducts();
    StartValues(t);
    context_.template WaitForProducts<0>();
    context_.FenceRegisters(o_);
  }

  EXPUNGE_KERNEL_CODE void Softmax() {
    EXPUNGE_UNROLL
    for (int half = 0; half < 2; ++half) factor_[half] = Weigh(context_, half, s_, &sums_[half]);
  }
  EXPUNGE_KERNEL_CODE void Rescale() {
    EXPUNGE_UNROLL
    for (int b = 0; b < kValueBlocks; ++b) {
      EXPUNGE_UNROLL
      for (int i = 0; i < 4; ++i) o_[b][i] *= factor_[i / 2];
    }
  }
  // Of 16 tokens: of the low row the columns 2 lane4_ and the next, of the high row the same, then 8 on.
  EXPUNGE_KERNEL_CODE void PackWeights() {
    EXPUNGE_UNROLL
    for (int k = 0; k < kHopperTokens / 16; ++k) {
      EXPUNGE_UNROLL
      for (int i = 0; i < 4; ++i) {
        const float* s = s_[2 * k + i / 2] + i % 2 * 2;
        weights_[k][i] = context_.PackBf16(s[0], s[1]);
      }
    }
  }

  Context& context_;
  const Group& group_;
  const Tile& tile_;
  const uint32_t row_bytes_;   // of keys and queries, as the group has them
  const uint32_t block_rows_;  // queries that the block has room for
  char* const queries_;        // [kPanels][block_rows_][128 bytes]
  char* const keys_;           // two of [kPanels][64][128 bytes]
  char* const values_;         // two of [kColumns][128 bytes]
  const uint32_t warpgroup_row_;
  const uint32_t row_;  // of the tile; this thread has it and the one 8 below
  const uint32_t lane4_;
  const bool active_;         // a warpgroup without queries only helps to load
  float s_[kTokenBlocks][4];  // logits, then weights
  uint32_t weights_[kHopperTokens / 16][4];
  float o_[kValueBlocks][4] = {};
  float factor_[2];  // 2^(L_old - L)
  RowSums<float> sums_[2];
};

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_HOPPER_BODY_H_
