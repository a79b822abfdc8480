#include <vector>

#include "attention/cuda/kernels.cuh"

namespace expunge::attention::cuda {
namespace {

Entry EntryOf(const LaunchShape& shape) {
  switch (shape.kernel) {
    case Kernel::kFloat64:
      return Float64Entry(shape.value_columns);
    case Kernel::kFloat32:
      return Float32Entry(shape.value_columns);
    case Kernel::kBfloat16Hopper:
      return HopperEntry(shape.value_columns, shape.key_panels);
    case Kernel::kBfloat16:
      break;
  }
  return Bfloat16Entry(shape.value_columns);
}

}  // namespace

cudaError_t LaunchKernel(const LaunchShape& shape, const Group* groups, const Tile* tiles,
                         uint32_t tile_count, cudaStream_t stream) {
  void* arguments[] = {&groups, &tiles};
  return cudaLaunchKernel(reinterpret_cast<const void*>(EntryOf(shape)), dim3(tile_count),
                          dim3(shape.threads), arguments, shape.shared_bytes, stream);
}

cudaError_t PrepareKernels(size_t shared_bytes_per_block) {
  std::vector<Entry> entries;
  for (const uint32_t columns : {64U, 128U}) {
    for (const Entry entry : {Float64Entry(columns), Float32Entry(columns), Bfloat16Entry(columns),
                              HopperEntry(columns, 1), HopperEntry(columns, 2)}) {
      entries.push_back(entry);
    }
  }
  for (const Entry entry : entries) {
    const auto function = reinterpret_cast<const void*>(entry);
    cudaFuncAttributes attributes{};
    cudaError_t error = cudaFuncGetAttributes(&attributes, function);
    if (error != cudaSuccess) return error;
    // More than 48 KB have to be asked for. The limit is one of all shared memory of a block.
    error = cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(shared_bytes_per_block - attributes.sharedSizeBytes));
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace expunge::attention::cuda
