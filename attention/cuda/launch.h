// What a launch of a readout kernel is given: groups (the queries of one task, and the support set that they
// read) and tiles (which rows of which group a block computes). One launch serves any number of memories.
// Plain C++: device code includes it.
#ifndef EXPUNGE_ATTENTION_CUDA_LAUNCH_H_
#define EXPUNGE_ATTENTION_CUDA_LAUNCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace expunge::attention::cuda {

// T: what is stored (double, float, Bf16). A: what is computed with (double for double, else float).
//
// Support sets are padded with keys and values of 0 and biases of -infinity to a multiple of token_padding
// tokens, and with zeros to multiples of key_padding and value_padding dimensions.
struct Group {
  const void* keys = nullptr;          // T; laid out as the kernel wants it (fast_rows.h)
  const void* bias = nullptr;          // A, padded_tokens
  const void* values = nullptr;        // T; likewise
  const void* value_centre = nullptr;  // A, padded_value_dimension
  const void* queries = nullptr;       // T, rows x padded_key_dimension: q - c
  void* outputs = nullptr;             // A, rows x value_dimension
  void* sums = nullptr;                // A, rows x 2: P = sum p_i, and L; f = 2 P 2^(L - gamma log2e |q-c|^2)
  double value_scale = 1;
  uint32_t rows = 0;
  uint32_t tokens = 0;
  uint32_t padded_tokens = 0;
  uint32_t padded_key_dimension = 0;
  uint32_t value_dimension = 0;
  uint32_t padded_value_dimension = 0;
};

struct Tile {
  uint32_t group = 0;
  uint32_t first_row = 0;
  uint32_t first_column = 0;  // of the values
  uint32_t unused = 0;
};

enum class Kernel {
  kFloat64,         // tensor cores of doubles: mma.sync, from compute capability 8.0
  kFloat32,         // plain multiply-adds
  kBfloat16,        // mma.sync, from 8.0
  kBfloat16Hopper,  // wgmma, 9.0 alone; keys of at most 128 dimensions
};

// Shared by all blocks of a launch.
struct LaunchShape {
  Kernel kernel = Kernel::kFloat32;
  uint32_t value_columns = 64;  // of a tile: 64 or 128
  uint32_t threads = 0;         // of a block
  uint32_t shared_bytes = 0;    // of a block
  uint32_t tile_rows = 0;
  uint32_t key_panels = 0;  // of kBfloat16Hopper: 64 dimensions each
};

// The largest shape that a device takes. `largest_key` is a padded dimension, `largest_value` one as it is;
// both, and `largest_rows`, are the largest of all groups. `shared_bytes` of the result is 0 if no shape
// fits: read by the CPU then.
[[nodiscard]] LaunchShape ShapeFor(Kernel kernel, uint32_t largest_key, uint32_t largest_value,
                                   uint32_t largest_rows, size_t shared_bytes_per_block);

// The tiles of group number `index`, appended to `tiles`.
void AddTiles(const LaunchShape& shape, const Group& group, uint32_t index, std::vector<Tile>* tiles);

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_LAUNCH_H_
