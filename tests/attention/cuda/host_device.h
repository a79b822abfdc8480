// A device in the host's memory that runs the kernels by emulation, and fails on demand. For tests alone.
//
// It is strict where a real one is silent: work is done only when its stream is waited for; memory that is
// freed must be all zeros; sizes and addresses are checked; a call after an error that stays is counted.
#ifndef EXPUNGE_TESTS_ATTENTION_CUDA_HOST_DEVICE_H_
#define EXPUNGE_TESTS_ATTENTION_CUDA_HOST_DEVICE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "attention/cuda/device.h"

namespace expunge::attention::cuda::testing {

// Outlives the device, so that tests see what happened until its end. Threads: any number.
class DeviceLog {
 public:
  enum class Call { kAllocate, kFree, kStaging, kStream, kCopyIn, kCopyOut, kClear, kLaunch, kSynchronize };

  // The n-th call from now on (1: the next) of any kind, or of `only`, fails.
  void FailAt(uint64_t n, DeviceError error);
  void FailAt(uint64_t n, DeviceError error, Call only);
  // Runs when a launch is carried out.
  void OnLaunch(std::function<void()> hook);
  // Runs when the kernel of a launch has written its results, and may spoil them.
  void AfterLaunch(std::function<void(const Group* groups)> hook);

  [[nodiscard]] uint64_t calls() const;
  [[nodiscard]] uint64_t calls(Call call) const;
  [[nodiscard]] size_t bytes_in_use() const;
  [[nodiscard]] size_t blocks_in_use() const;
  // Whether all staging memory in use is zero; all device memory in use, as far as it was written.
  [[nodiscard]] bool staging_is_wiped() const;
  [[nodiscard]] bool memory_is_wiped() const;
  // What no correct engine does: freed memory that was not wiped, calls after a loss, bad arguments.
  [[nodiscard]] std::vector<std::string> violations() const;

 private:
  friend class HostDevice;
  mutable std::mutex mutex_;
  std::map<Call, uint64_t> calls_;
  uint64_t all_calls_ = 0;
  uint64_t fail_in_ = 0;  // calls until the failure; 0: none
  DeviceError fail_with_ = DeviceError::kNone;
  bool fail_only_ = false;
  Call fail_call_ = Call::kAllocate;
  bool lost_ = false;
  std::function<void()> on_launch_;
  std::function<void(const Group*)> after_launch_;
  std::map<char*, size_t> memory_;
  std::map<char*, size_t> staging_;
  std::map<char*, size_t> written_;  // of each block, how far anything was copied into or out of it
  std::set<void*> streams_;
  std::vector<std::string> violations_;
};

class HostDevice final : public Device {
 public:
  // `memory_bytes`: allocations beyond it fail. `hopper`: of compute capability 9.0, else of 8.0.
  HostDevice(std::shared_ptr<DeviceLog> log, size_t memory_bytes, bool hopper = false);
  // Whatever was left on a lost device goes with it.
  ~HostDevice() override;
  HostDevice(const HostDevice&) = delete;
  HostDevice& operator=(const HostDevice&) = delete;

  [[nodiscard]] const DeviceFacts& facts() const override { return facts_; }
  [[nodiscard]] Kernel BestBfloat16() const override {
    return facts_.compute_major == 9 ? Kernel::kBfloat16Hopper : Kernel::kBfloat16;
  }
  DeviceStatus Allocate(size_t bytes, void** memory) override;
  DeviceStatus Free(void* memory) override;
  DeviceStatus AllocateStaging(size_t bytes, void** memory) override;
  DeviceStatus FreeStaging(void* memory) override;
  DeviceStatus CreateStream(Stream* stream) override;
  DeviceStatus DestroyStream(Stream stream) override;
  DeviceStatus CopyIn(Stream stream, void* device_memory, const void* staging, size_t bytes) override;
  DeviceStatus CopyOut(Stream stream, void* staging, const void* device_memory, size_t bytes) override;
  DeviceStatus Clear(Stream stream, void* device_memory, size_t bytes) override;
  DeviceStatus Launch(Stream stream, const LaunchShape& shape, const Group* groups, const Tile* tiles,
                      uint32_t tile_count) override;
  DeviceStatus Synchronize(Stream stream) override;

 private:
  struct Work {
    std::vector<std::function<void()>> steps;
  };
  // Counts a call; an error if this one is to fail.
  DeviceStatus Enter(DeviceLog::Call call, const char* what);
  DeviceStatus Enqueue(Stream stream, std::function<void()> step);
  void Violation(const std::string& what);
  void CheckRange(const std::map<char*, size_t>& blocks, const void* begin, size_t bytes, const char* what);
  DeviceStatus Release(std::map<char*, size_t>* blocks, void* memory, const char* what);

  const std::shared_ptr<DeviceLog> log_;
  DeviceFacts facts_;
};

}  // namespace expunge::attention::cuda::testing

#endif  // EXPUNGE_TESTS_ATTENTION_CUDA_HOST_DEVICE_H_
