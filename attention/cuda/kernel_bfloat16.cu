#include "attention/cuda/context.cuh"
#include "attention/cuda/kernels.cuh"
#include "attention/cuda/mma_body.h"

namespace expunge::attention::cuda {
namespace {

template <int kColumns>
__global__ void __launch_bounds__(MmaTraits<Bf16>::kMostThreads, 2)
    Bfloat16Readout(const Group* groups, const Tile* tiles) {
  const Tile tile = tiles[blockIdx.x];
  const Group group = groups[tile.group];
  DeviceContext context;
  MmaReadout<Bf16, kColumns, DeviceContext>(context, group, tile).Run();
}

}  // namespace

Entry Bfloat16Entry(uint32_t columns) { return columns == 64 ? Bfloat16Readout<64> : Bfloat16Readout<128>; }

}  // namespace expunge::attention::cuda
