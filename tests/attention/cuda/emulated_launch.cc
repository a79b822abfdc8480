#include "tests/attention/cuda/emulated_launch.h"

#include "attention/cuda/hopper_body.h"
#include "attention/cuda/mma_body.h"
#include "attention/cuda/simt_body.h"

namespace expunge::attention::cuda::testing {
namespace {

template <class Readout>
bool EmulateBlock(const LaunchShape& shape, const Group& group, const Tile& tile, const Schedule& schedule) {
  Block block(shape.threads, shape.shared_bytes, schedule);
  return block.Run([&](uint32_t thread) {
    EmulatedContext context(&block, thread);
    Readout(context, group, tile).Run();
  });
}

template <int kColumns>
bool EmulateTile(const LaunchShape& shape, const Group& group, const Tile& tile, const Schedule& schedule) {
  switch (shape.kernel) {
    case Kernel::kFloat64:
      return EmulateBlock<MmaReadout<double, kColumns, EmulatedContext>>(shape, group, tile, schedule);
    case Kernel::kFloat32:
      return EmulateBlock<SimtReadout<kColumns, EmulatedContext>>(shape, group, tile, schedule);
    case Kernel::kBfloat16Hopper:
      if (shape.key_panels == 1) {
        return EmulateBlock<HopperReadout<kColumns, 1, EmulatedContext>>(shape, group, tile, schedule);
      }
      return EmulateBlock<HopperReadout<kColumns, 2, EmulatedContext>>(shape, group, tile, schedule);
    case Kernel::kBfloat16:
      break;
  }
  return EmulateBlock<MmaReadout<Bf16, kColumns, EmulatedContext>>(shape, group, tile, schedule);
}

}  // namespace

bool EmulateLaunch(const LaunchShape& shape, const Group* groups, const Tile* tiles, uint32_t tile_count,
                   const Schedule& schedule) {
  for (uint32_t t = 0; t < tile_count; ++t) {
    const Group& group = groups[tiles[t].group];
    const bool finished = shape.value_columns == 64 ? EmulateTile<64>(shape, group, tiles[t], schedule)
                                                    : EmulateTile<128>(shape, group, tiles[t], schedule);
    if (!finished) return false;
  }
  return true;
}

}  // namespace expunge::attention::cuda::testing
