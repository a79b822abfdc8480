#include "attention/cuda/context.cuh"
#include "attention/cuda/kernels.cuh"
#include "attention/cuda/mma_body.h"

namespace expunge::attention::cuda {
namespace {

template <int kColumns>
__global__ void __launch_bounds__(MmaTraits<double>::kMostThreads, 1)
    Float64Readout(const Group* groups, const Tile* tiles) {
  const Tile tile = tiles[blockIdx.x];
  const Group group = groups[tile.group];
  DeviceContext context;
  MmaReadout<double, kColumns, DeviceContext>(context, group, tile).Run();
}

}  // namespace

Entry Float64Entry(uint32_t columns) { return columns == 64 ? Float64Readout<64> : Float64Readout<128>; }

}  // namespace expunge::attention::cuda
