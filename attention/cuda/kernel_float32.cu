#include "attention/cuda/context.cuh"
#include "attention/cuda/kernels.cuh"
#include "attention/cuda/simt_body.h"

namespace expunge::attention::cuda {
namespace {

template <int kColumns>
__global__ void __launch_bounds__(kSimtThreads, 2) Float32Readout(const Group* groups, const Tile* tiles) {
  const Tile tile = tiles[blockIdx.x];
  const Group group = groups[tile.group];
  DeviceContext context;
  SimtReadout<kColumns, DeviceContext>(context, group, tile).Run();
}

}  // namespace

Entry Float32Entry(uint32_t columns) { return columns == 64 ? Float32Readout<64> : Float32Readout<128>; }

}  // namespace expunge::attention::cuda
