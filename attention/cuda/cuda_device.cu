// The real device, by the CUDA runtime.
#include <cuda_runtime.h>

#include <new>
#include <utility>

#include "attention/cuda/device.h"
#include "attention/cuda/kernels.cuh"

namespace expunge::attention::cuda {
namespace {

constexpr int kLeastMajor = 8;

DeviceStatus Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return {};
  // An error of an allocation does not stay; all others are taken to stay.
  const DeviceError kind =
      error == cudaErrorMemoryAllocation ? DeviceError::kOutOfMemory : DeviceError::kLost;
  (void)cudaGetLastError();
  DeviceStatus status{kind, {}};
  try {
    status.message = std::string(what) + ": " + cudaGetErrorName(error);
  } catch (const std::bad_alloc&) {
    // The error counts without words, too.
  }
  return status;
}

#define EXPUNGE_CUDA_RETURN_IF_ERROR(call, what)                                 \
  do {                                                                           \
    if (DeviceStatus checked = Check(call, what); !checked.ok()) return checked; \
  } while (false)

class CudaDevice final : public Device {
 public:
  CudaDevice(int ordinal, DeviceFacts facts, bool pools, cudaStream_t memory_stream)
      : ordinal_(ordinal), facts_(std::move(facts)), pools_(pools), memory_stream_(memory_stream) {}
  ~CudaDevice() override {
    if (cudaSetDevice(ordinal_) == cudaSuccess) (void)cudaStreamDestroy(memory_stream_);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  [[nodiscard]] const DeviceFacts& facts() const override { return facts_; }
  // The matrix instructions of 9.0 exist on no other device, newer ones included.
  [[nodiscard]] Kernel BestBfloat16() const override {
    return facts_.compute_major == 9 && facts_.compute_minor == 0 ? Kernel::kBfloat16Hopper
                                                                  : Kernel::kBfloat16;
  }

  DeviceStatus Allocate(size_t bytes, void** memory) override {
    EXPUNGE_CUDA_RETURN_IF_ERROR(cudaSetDevice(ordinal_), "choosing the device");
    if (!pools_) return Check(cudaMalloc(memory, bytes), "allocating device memory");
    // Unlike cudaMalloc and cudaFree these do not wait for what other streams do.
    EXPUNGE_CUDA_RETURN_IF_ERROR(cudaMallocAsync(memory, bytes, memory_stream_), "allocating device memory");
    return Check(cudaStreamSynchronize(memory_stream_), "allocating device memory");
  }
  DeviceStatus Free(void* memory) override {
    EXPUNGE_CUDA_RETURN_IF_ERROR(cudaSetDevice(ordinal_), "choosing the device");
    return Check(pools_ ? cudaFreeAsync(memory, memory_stream_) : cudaFree(memory), "freeing device memory");
  }
  DeviceStatus AllocateStaging(size_t bytes, void** memory) override {
    EXPUNGE_CUDA_RETURN_IF_ERROR(cudaSetDevice(ordinal_), "choosing the device");
    return Check(cudaHostAlloc(memory, bytes, cudaHostAllocDefault), "allocating pinned memory");
  }
  DeviceStatus FreeStaging(void* memory) override {
    EXPUNGE_CUDA_RETURN_IF_ERROR(cudaSetDevice(ordinal_), "choosing the device");
    return Check(cudaFreeHost(memory), "freeing pinned memory");
  }
  DeviceStatus CreateStream(Stream* stream) override {
    EXPUNGE_CUDA_RETURN_IF_ERROR(cudaSetDevice(ordinal_), "choosing the device");
    cudaStream_t created = nullptr;
    EXPUNGE_CUDA_RETURN_IF_ERROR(cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking),
                                 "creating a stream");
    *stream = created;
    return {};
  }
  DeviceStatus DestroyStream(Stream stream) override {
    EXPUNGE_CUDA_RETURN_IF_ERROR(cudaSetDevice(ordinal_), "choosing the device");
    return Check(cudaStreamDestroy(Of(stream)), "destroying a stream");
  }

  DeviceStatus CopyIn(Stream stream, void* device_memory, const void* staging, size_t bytes) override {
    EXPUNGE_CUDA_RETURN_IF_ERROR(cudaSetDevice(ordinal_), "choosing the device");
    return Check(cudaMemcpyAsync(device_memory, staging, bytes, cudaMemcpyHostToDevice, Of(stream)),
                 "copying to the device");
  }
  DeviceStatus CopyOut(Stream stream, void* staging, const void* device_memory, size_t bytes) override {
    EXPUNGE_CUDA_RETURN_IF_ERROR(cudaSetDevice(ordinal_), "choosing the device");
    return Check(cudaMemcpyAsync(staging, device_memory, bytes, cudaMemcpyDeviceToHost, Of(stream)),
                 "copying from the device");
  }
  DeviceStatus Clear(Stream stream, void* device_memory, size_t bytes) override {
    EXPUNGE_CUDA_RETURN_IF_ERROR(cudaSetDevice(ordinal_), "choosing the device");
    return Check(cudaMemsetAsync(device_memory, 0, bytes, Of(stream)), "clearing device memory");
  }
  DeviceStatus Launch(Stream stream, const LaunchShape& shape, const Group* groups, const Tile* tiles,
                      uint32_t tile_count) override {
    EXPUNGE_CUDA_RETURN_IF_ERROR(cudaSetDevice(ordinal_), "choosing the device");
    return Check(LaunchKernel(shape, groups, tiles, tile_count, Of(stream)), "launching a kernel");
  }
  DeviceStatus Synchronize(Stream stream) override {
    EXPUNGE_CUDA_RETURN_IF_ERROR(cudaSetDevice(ordinal_), "choosing the device");
    return Check(cudaStreamSynchronize(Of(stream)), "waiting for the device");
  }

 private:
  static cudaStream_t Of(Stream stream) { return static_cast<cudaStream_t>(stream); }

  const int ordinal_;
  const DeviceFacts facts_;
  const bool pools_;
  const cudaStream_t memory_stream_;
};

#undef EXPUNGE_CUDA_RETURN_IF_ERROR

std::string VersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Why there is no device at all, or empty.
std::string WhyNone(int* count) {
  int driver = 0;
  int runtime = 0;
  (void)cudaDriverGetVersion(&driver);
  (void)cudaRuntimeGetVersion(&runtime);
  if (driver == 0) return "no NVIDIA driver is installed";
  const cudaError_t error = cudaGetDeviceCount(count);
  if (error == cudaErrorInsufficientDriver) {
    return "the NVIDIA driver is too old: it supports CUDA " + VersionText(driver) +
           ", and this build needs " + VersionText(runtime);
  }
  if (error == cudaErrorNoDevice || (error == cudaSuccess && *count == 0)) return "there is no CUDA device";
  if (error != cudaSuccess) return std::string("the CUDA driver fails: ") + cudaGetErrorName(error);
  return "";
}

std::string WhyNot(const cudaDeviceProp& properties) {
  const std::string name = properties.name;
  if (properties.major < kLeastMajor) {
    return name + " has compute capability " + std::to_string(properties.major) + "." +
           std::to_string(properties.minor) + ", and 8.0 is needed";
  }
  return "";
}

}  // namespace

std::unique_ptr<Device> OpenCudaDevice(std::string* why) {
  int count = 0;
  *why = WhyNone(&count);
  (void)cudaGetLastError();
  if (!why->empty()) return nullptr;
  int best = -1;
  cudaDeviceProp best_properties{};
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) {
      (void)cudaGetLastError();
      *why = "a CUDA device does not tell its properties";
      continue;
    }
    const std::string reason = WhyNot(properties);
    if (!reason.empty()) {
      *why = reason;
      continue;
    }
    const auto rank = [](const cudaDeviceProp& p) {
      return std::pair(p.major * 10 + p.minor, p.totalGlobalMem);
    };
    if (best < 0 || rank(properties) > rank(best_properties)) {
      best = i;
      best_properties = properties;
    }
  }
  if (best < 0) return nullptr;
  cudaStream_t memory_stream = nullptr;
  int pools = 0;
  cudaError_t error = cudaSetDevice(best);
  if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&memory_stream, cudaStreamNonBlocking);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, best);
  if (error == cudaSuccess) error = PrepareKernels(best_properties.sharedMemPerBlockOptin);
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    *why = std::string(best_properties.name) + " cannot be used: " + cudaGetErrorName(error);
    return nullptr;
  }
  DeviceFacts facts;
  facts.name = best_properties.name;
  facts.compute_major = best_properties.major;
  facts.compute_minor = best_properties.minor;
  facts.multiprocessors = best_properties.multiProcessorCount;
  facts.memory_bytes = best_properties.totalGlobalMem;
  facts.shared_bytes_per_block = best_properties.sharedMemPerBlockOptin;
  why->clear();
  return std::make_unique<CudaDevice>(best, std::move(facts), pools != 0, memory_stream);
}

}  // namespace expunge::attention::cuda
