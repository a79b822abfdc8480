// Readouts by a CUDA device, with the CPU for everything that the device does not do: certified readouts,
// contributions, small tasks, memories that do not fit, queries too far away for a precision, and all tasks
// of a device that failed.
//
// An error of the device, or of memory of the host on the way to it, costs a caller time, never an answer:
// the tasks under way are read by the CPU. After any error of the device but that of an allocation it is not
// used again until a restart.
#ifndef EXPUNGE_ATTENTION_CUDA_CUDA_ENGINE_H_
#define EXPUNGE_ATTENTION_CUDA_CUDA_ENGINE_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/cuda/device.h"
#include "attention/cuda/health.h"
#include "attention/cuda/lane.h"
#include "attention/cuda/resident_sets.h"
#include "attention/engine.h"

namespace expunge::attention::cuda {

struct CudaEngineOptions {
  uint64_t device_bytes = uint64_t{2} << 30;  // EngineOptions::device_bytes
  // With fewer floating-point operations in a call the CPU is done before the device has begun.
  double least_operations = 2e7;
  // Calls that use the device at once; more wait. Each lane takes 2 slot_bytes of pinned memory and of device
  // memory, from its first use on and besides device_bytes.
  size_t lanes = 4;
  size_t slot_bytes = size_t{16} << 20;
};

// Threads: any number of calls at once.
class CudaEngine final : public ReadoutEngine {
 public:
  CudaEngine(const CudaEngineOptions& options, std::unique_ptr<Device> device,
             std::unique_ptr<ReadoutEngine> cpu);

  void Read(absl::Span<const ReadoutTask> tasks, absl::Span<Readouts> answers) override;
  void Publish(const std::shared_ptr<const SupportSet>& previous,
               const std::shared_ptr<const SupportSet>& next) noexcept override;
  [[nodiscard]] EngineStatus Status() const override;

  // Reads small problems in every precision on the device, and compares with certified readouts: whether it
  // can be relied on. Says what is wrong; empty if nothing is. Before other reads.
  [[nodiscard]] std::string Check();

 private:
  // Sets what the device is to do by each kernel apart from what is for the CPU.
  struct Plan;
  [[nodiscard]] Plan MakePlan(absl::Span<const ReadoutTask> tasks) const;
  // REQUIRES: not kCertified.
  [[nodiscard]] Kernel KernelOf(const ReadoutTask& task) const;
  [[nodiscard]] bool Fits(const ReadoutTask& task, Kernel kernel) const;
  // Whether the device could read it.
  [[nodiscard]] bool Suits(const ReadoutTask& task) const;
  // Reads tasks[i] for i in `chosen`, and returns those that it could not. Throws std::bad_alloc: then none
  // of the answers counts.
  [[nodiscard]] std::vector<size_t> ReadOnDevice(absl::Span<const ReadoutTask> tasks, Kernel kernel,
                                                 const std::vector<size_t>& chosen,
                                                 absl::Span<Readouts> answers);
  void ReadOnCpu(absl::Span<const ReadoutTask> tasks, const std::vector<size_t>& chosen,
                 absl::Span<Readouts> answers);
  // Check, by one kernel. `certified`: the right answers to `tasks`.
  [[nodiscard]] std::string CheckKernel(Kernel kernel, absl::Span<const ReadoutTask> tasks,
                                        absl::Span<const Readouts> certified);
  // Lane::Read in a lane of its own; false, too, if there can be none.
  class LaneTicket;
  [[nodiscard]] bool ReadInLane(const LaunchShape& shape, absl::Span<DeviceTask> tasks);

  const CudaEngineOptions options_;
  const std::unique_ptr<ReadoutEngine> cpu_;
  const std::unique_ptr<Device> device_;
  Health health_;
  ResidentSets resident_sets_;
  std::atomic<uint64_t> fallbacks_{0};

  std::mutex lanes_mutex_;
  std::condition_variable lane_free_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // that nobody uses
  size_t lanes_made_ = 0;
};

[[nodiscard]] Precision PrecisionOf(Kernel kernel);

// With the device of this machine, checked. Null if there is none that can be used, or it reads wrongly:
// `why` says so.
[[nodiscard]] std::unique_ptr<ReadoutEngine> OpenCudaEngine(const EngineOptions& options, std::string* why);

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_CUDA_ENGINE_H_
