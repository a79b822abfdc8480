// A device as the engine uses it: memory, copies, launches. Plain C++; no exceptions, no exit.
//
// The real one is opened by OpenCudaDevice. Tests have another one, which runs the kernels on the host and
// fails on demand.
#ifndef EXPUNGE_ATTENTION_CUDA_DEVICE_H_
#define EXPUNGE_ATTENTION_CUDA_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "attention/cuda/launch.h"

namespace expunge::attention::cuda {

enum class DeviceError {
  kNone,
  kOutOfMemory,  // nothing was allocated; everything else still works
  kLost,         // whatever came before or comes after may have failed: do not use the device again
};

struct [[nodiscard]] DeviceStatus {
  DeviceError error = DeviceError::kNone;
  std::string message;  // what was tried, and the driver's name for the error

  [[nodiscard]] bool ok() const { return error == DeviceError::kNone; }
};

struct DeviceFacts {
  std::string name;
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  size_t memory_bytes = 0;
  size_t shared_bytes_per_block = 0;
};

// Threads: any number of calls at once, on different streams.
class Device {
 public:
  using Stream = void*;
  virtual ~Device() = default;

  [[nodiscard]] virtual const DeviceFacts& facts() const = 0;
  // Of bfloat16: the one for this device.
  [[nodiscard]] virtual Kernel BestBfloat16() const = 0;

  // Memory of the device, aligned to 256 bytes, with any content.
  virtual DeviceStatus Allocate(size_t bytes, void** memory) = 0;
  // REQUIRES: no stream uses it any more.
  virtual DeviceStatus Free(void* memory) = 0;
  // Memory of the host, for copies that go on by themselves.
  virtual DeviceStatus AllocateStaging(size_t bytes, void** memory) = 0;
  virtual DeviceStatus FreeStaging(void* memory) = 0;
  virtual DeviceStatus CreateStream(Stream* stream) = 0;
  virtual DeviceStatus DestroyStream(Stream stream) = 0;

  // In the order of the stream, and usually not done when the call returns. Host memory is staging memory.
  virtual DeviceStatus CopyIn(Stream stream, void* device_memory, const void* staging, size_t bytes) = 0;
  virtual DeviceStatus CopyOut(Stream stream, void* staging, const void* device_memory, size_t bytes) = 0;
  virtual DeviceStatus Clear(Stream stream, void* device_memory, size_t bytes) = 0;
  // Groups and tiles are in device memory. REQUIRES: shape.shared_bytes > 0, tile_count > 0.
  virtual DeviceStatus Launch(Stream stream, const LaunchShape& shape, const Group* groups, const Tile* tiles,
                              uint32_t tile_count) = 0;
  // Waits for all of it, and reports what failed meanwhile.
  virtual DeviceStatus Synchronize(Stream stream) = 0;
};

// The usable device with the highest compute capability: 8.0 at least, and a driver that is new enough. Null
// if there is none, or this build has no CUDA: `why` says it, and what would help, in one line.
[[nodiscard]] std::unique_ptr<Device> OpenCudaDevice(std::string* why);

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_DEVICE_H_
