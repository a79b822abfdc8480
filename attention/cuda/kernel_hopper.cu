#include "attention/cuda/hopper_body.h"
#include "attention/cuda/hopper_context.cuh"
#include "attention/cuda/kernels.cuh"

namespace expunge::attention::cuda {
namespace {

template <int kColumns, uint32_t kPanels>
__global__ void __launch_bounds__(kHopperWarpgroups* kWarpgroupThreads, 1)
    HopperEntryPoint(const Group* groups, const Tile* tiles) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const Tile tile = tiles[blockIdx.x];
  const Group group = groups[tile.group];
  HopperContext context;
  HopperReadout<kColumns, kPanels, HopperContext>(context, group, tile).Run();
#endif
}

}  // namespace

Entry HopperEntry(uint32_t columns, uint32_t panels) {
  if (columns == 64) return panels == 1 ? HopperEntryPoint<64, 1> : HopperEntryPoint<64, 2>;
  return panels == 1 ? HopperEntryPoint<128, 1> : HopperEntryPoint<128, 2>;
}

}  // namespace expunge::attention::cuda
