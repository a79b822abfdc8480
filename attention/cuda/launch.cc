#include "attention/cuda/launch.h"

#include "attention/cuda/hopper_body.h"
#include "attention/cuda/mma_body.h"
#include "attention/cuda/simt_body.h"

namespace expunge::attention::cuda {
namespace {

LaunchShape Unfit(Kernel kernel) {
  LaunchShape shape;
  shape.kernel = kernel;
  return shape;
}

// The most warps of those preferred that fit.
template <typename T>
LaunchShape MmaShape(Kernel kernel, uint32_t largest_key, uint32_t columns, size_t shared_bytes_per_block) {
  for (uint32_t warps = MmaTraits<T>::kMostThreads / 32; warps > 0; warps /= 2) {
    const uint32_t bytes = MmaSharedBytes<T>(warps, largest_key, columns);
    if (bytes > shared_bytes_per_block) continue;
    return {.kernel = kernel,
            .value_columns = columns,
            .threads = warps * 32,
            .shared_bytes = bytes,
            .tile_rows = warps * kRowsPerWarp,
            .key_panels = 0};
  }
  return Unfit(kernel);
}

// As many warpgroups as there are rows for: more small blocks fit on a multiprocessor.
LaunchShape HopperShape(uint32_t largest_key, uint32_t columns, uint32_t largest_rows,
                        size_t shared_bytes_per_block) {
  const uint32_t most = largest_rows <= kWarpgroupRows ? 1 : kHopperWarpgroups;
  const uint32_t panels = largest_key / kPanelColumns;
  for (uint32_t warpgroups = panels <= 2 ? most : 0; warpgroups > 0; --warpgroups) {
    const uint32_t bytes = HopperSharedBytes(warpgroups, panels, columns);
    if (bytes > shared_bytes_per_block) continue;
    return {.kernel = Kernel::kBfloat16Hopper,
            .value_columns = columns,
            .threads = warpgroups * kWarpgroupThreads,
            .shared_bytes = bytes,
            .tile_rows = warpgroups * kWarpgroupRows,
            .key_panels = panels};
  }
  return Unfit(Kernel::kBfloat16Hopper);
}

}  // namespace

LaunchShape ShapeFor(Kernel kernel, uint32_t largest_key, uint32_t largest_value, uint32_t largest_rows,
                     size_t shared_bytes_per_block) {
  const uint32_t columns = largest_value <= 64 ? 64 : 128;
  switch (kernel) {
    case Kernel::kFloat64:
      return MmaShape<double>(kernel, largest_key, columns, shared_bytes_per_block);
    case Kernel::kFloat32: {
      const uint32_t bytes = SimtSharedBytes(largest_key);
      if (bytes > shared_bytes_per_block) return Unfit(kernel);
      return {.kernel = kernel,
              .value_columns = columns,
              .threads = kSimtThreads,
              .shared_bytes = bytes,
              .tile_rows = kSimtRows,
              .key_panels = 0};
    }
    case Kernel::kBfloat16Hopper:
      return HopperShape(largest_key, columns, largest_rows, shared_bytes_per_block);
    case Kernel::kBfloat16:
      break;
  }
  return MmaShape<Bf16>(kernel, largest_key, columns, shared_bytes_per_block);
}

void AddTiles(const LaunchShape& shape, const Group& group, uint32_t index, std::vector<Tile>* tiles) {
  for (uint32_t column = 0; column < group.value_dimension; column += shape.value_columns) {
    for (uint32_t row = 0; row < group.rows; row += shape.tile_rows) {
      tiles->push_back({index, row, column, 0});
    }
  }
}

}  // namespace expunge::attention::cuda
