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
  const auto entry = reinterpret_cast<const void*>(EntryOf(shape));
  // More than 48 KB of shared memory for a block have to be asked for.
  const cudaError_t error = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 static_cast<int>(shape.shared_bytes));
  if (error != cudaSuccess) return error;
  void* arguments[] = {&groups, &tiles};
  return cudaLaunchKernel(entry, dim3(tile_count), dim3(shape.threads), arguments, shape.shared_bytes,
                          stream);
}

cudaError_t CheckKernels() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(Float32Entry(64)));
}

}  // namespace expunge::attention::cuda
