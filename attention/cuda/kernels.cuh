// Entry points of the kernels, one translation unit each: launches of all blocks of `tiles`.
#ifndef EXPUNGE_ATTENTION_CUDA_KERNELS_CUH_
#define EXPUNGE_ATTENTION_CUDA_KERNELS_CUH_

#include <cuda_runtime.h>

#include "attention/cuda/launch.h"

namespace expunge::attention::cuda {

// Arrays on the device. Returns the error of the launch alone. After PrepareKernels.
cudaError_t LaunchKernel(const LaunchShape& shape, const Group* groups, const Tile* tiles,
                         uint32_t tile_count, cudaStream_t stream);
// Whether there is code for the current device; allows all kernels so much shared memory for a block. That is
// a setting of each kernel, which all threads share: once, before any launch.
cudaError_t PrepareKernels(size_t shared_bytes_per_block);

using Entry = void (*)(const Group* groups, const Tile* tiles);
// By the columns of the values in a tile, 64 or 128.
Entry Float64Entry(uint32_t columns);
Entry Float32Entry(uint32_t columns);
Entry Bfloat16Entry(uint32_t columns);
// Writes nothing on any device but those of compute capability 9.0.
Entry HopperEntry(uint32_t columns, uint32_t panels);

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_KERNELS_CUH_
