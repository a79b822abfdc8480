#include "attention/cuda/cuda_engine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attention/cpu/cpu_engine.h"
#include "attention/cuda/fast_rows.h"

namespace expunge::attention::cuda {
namespace {

constexpr Kernel kKernels[] = {Kernel::kFloat64, Kernel::kFloat32, Kernel::kBfloat16,
                               Kernel::kBfloat16Hopper};

double Operations(const ReadoutTask& task) {
  const SupportSet& support = *task.support;
  return 2.0 * static_cast<double>(QueriesOf(task)) * static_cast<double>(support.size()) *
         (support.key_dimension() + support.value_dimension());
}

uint32_t PaddedKey(const SupportSet& support, Kernel kernel) {
  const size_t padding = TraitsOf(kernel).key_padding;
  return static_cast<uint32_t>((support.key_dimension() + padding - 1) / padding * padding);
}

}  // namespace

Precision PrecisionOf(Kernel kernel) {
  switch (kernel) {
    case Kernel::kFloat64:
      return Precision::kFloat64;
    case Kernel::kFloat32:
      return Precision::kFloat32;
    case Kernel::kBfloat16:
    case Kernel::kBfloat16Hopper:
      break;
  }
  return Precision::kBfloat16;
}

struct CudaEngine::Plan {
  std::vector<size_t> device[4];  // by kKernels
  std::vector<size_t> cpu;
};

CudaEngine::CudaEngine(const CudaEngineOptions& options, std::unique_ptr<Device> device,
                       std::unique_ptr<ReadoutEngine> cpu)
    : options_(options),
      cpu_(std::move(cpu)),
      device_(std::move(device)),
      resident_sets_(device_.get(), &health_, options.device_bytes) {}

// Of the wider tile, so that any tasks can share a launch.
bool CudaEngine::Fits(const ReadoutTask& task, Kernel kernel) const {
  return ShapeFor(kernel, PaddedKey(*task.support, kernel), 128, 1, device_->facts().shared_bytes_per_block)
             .shared_bytes > 0;
}

Kernel CudaEngine::KernelOf(const ReadoutTask& task) const {
  if (task.precision == Precision::kFloat64) return Kernel::kFloat64;
  if (task.precision == Precision::kFloat32) return Kernel::kFloat32;
  return Fits(task, device_->BestBfloat16()) ? device_->BestBfloat16() : Kernel::kBfloat16;
}

bool CudaEngine::Suits(const ReadoutTask& task) const {
  if (task.precision == Precision::kCertified || task.with_contributions || QueriesOf(task) == 0)
    return false;
  return Fits(task, KernelOf(task));
}

CudaEngine::Plan CudaEngine::MakePlan(absl::Span<const ReadoutTask> tasks) const {
  Plan plan;
  double operations = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!Suits(tasks[i])) {
      plan.cpu.push_back(i);
      continue;
    }
    const auto* at = std::find(std::begin(kKernels), std::end(kKernels), KernelOf(tasks[i]));
    plan.device[at - std::begin(kKernels)].push_back(i);
    operations += Operations(tasks[i]);
  }
  if (operations >= options_.least_operations) return plan;
  for (std::vector<size_t>& chosen : plan.device) {
    plan.cpu.insert(plan.cpu.end(), chosen.begin(), chosen.end());
    chosen.clear();
  }
  return plan;
}

void CudaEngine::Read(absl::Span<const ReadoutTask> tasks, absl::Span<Readouts> answers) {
  Plan plan = MakePlan(tasks);
  for (size_t k = 0; k < std::size(kKernels); ++k) {
    if (plan.device[k].empty()) continue;
    const std::vector<size_t> left = ReadOnDevice(tasks, kKernels[k], plan.device[k], answers);
    fallbacks_ += left.size();
    plan.cpu.insert(plan.cpu.end(), left.begin(), left.end());
  }
  ReadOnCpu(tasks, plan.cpu, answers);
}

std::vector<size_t> CudaEngine::ReadOnDevice(absl::Span<const ReadoutTask> tasks, Kernel kernel,
                                             const std::vector<size_t>& chosen,
                                             absl::Span<Readouts> answers) {
  if (health_.lost()) {
    resident_sets_.Forget();
    return chosen;
  }
  std::vector<size_t> left;
  std::vector<size_t> taken;
  std::vector<DeviceTask> on_device;
  uint32_t largest_key = 0;
  uint32_t largest_value = 0;
  size_t rows = 0;
  for (const size_t i : chosen) {
    std::shared_ptr<const ResidentSet> resident = resident_sets_.Get(tasks[i].support, kernel);
    if (resident == nullptr) {
      left.push_back(i);
      continue;
    }
    largest_key = std::max(largest_key, resident->group().padded_key_dimension);
    largest_value = std::max(largest_value, resident->group().value_dimension);
    rows = std::max(rows, QueriesOf(tasks[i]));
    taken.push_back(i);
    on_device.push_back({&tasks[i], &answers[i], std::move(resident)});
  }
  if (taken.empty()) return left;
  std::unique_ptr<Lane> lane = TakeLane();
  const auto largest_rows = static_cast<uint32_t>(std::min(rows, size_t{1} << 20));
  const LaunchShape shape =
      ShapeFor(kernel, largest_key, largest_value, largest_rows, device_->facts().shared_bytes_per_block);
  const bool read = lane != nullptr && lane->Read(shape, PrecisionOf(kernel), absl::MakeSpan(on_device));
  if (lane != nullptr) GiveBack(std::move(lane));
  for (size_t t = 0; t < taken.size(); ++t) {
    if (!read || on_device[t].too_far) left.push_back(taken[t]);
  }
  return left;
}

void CudaEngine::ReadOnCpu(absl::Span<const ReadoutTask> tasks, const std::vector<size_t>& chosen,
                           absl::Span<Readouts> answers) {
  if (chosen.empty()) return;
  if (chosen.size() == tasks.size()) {
    cpu_->Read(tasks, answers);
    return;
  }
  std::vector<ReadoutTask> some;
  for (const size_t i : chosen) some.push_back(tasks[i]);
  std::vector<Readouts> some_answers(chosen.size());
  cpu_->Read(some, absl::MakeSpan(some_answers));
  for (size_t i = 0; i < chosen.size(); ++i) answers[chosen[i]] = std::move(some_answers[i]);
}

std::unique_ptr<Lane> CudaEngine::TakeLane() {
  std::unique_lock<std::mutex> lock(lanes_mutex_);
  lane_free_.wait(lock, [this] { return !lanes_.empty() || lanes_made_ < options_.lanes; });
  if (!lanes_.empty()) {
    std::unique_ptr<Lane> lane = std::move(lanes_.back());
    lanes_.pop_back();
    return lane;
  }
  ++lanes_made_;
  lock.unlock();
  auto lane = std::make_unique<Lane>(device_.get(), &health_, options_.slot_bytes);
  if (!health_.lost() && lane->Open()) return lane;
  GiveBack(nullptr);
  return nullptr;
}

void CudaEngine::GiveBack(std::unique_ptr<Lane> lane) {
  {
    const std::lock_guard<std::mutex> lock(lanes_mutex_);
    if (lane == nullptr) {
      --lanes_made_;
    } else {
      lanes_.push_back(std::move(lane));
    }
  }
  lane_free_.notify_one();
}

void CudaEngine::Publish(const std::shared_ptr<const SupportSet>& previous,
                         const std::shared_ptr<const SupportSet>& next) {
  cpu_->Publish(previous, next);
  resident_sets_.Publish(previous, next);
}

EngineStatus CudaEngine::Status() const {
  EngineStatus status = cpu_->Status();
  const bool lost = health_.lost();
  status.backend = lost ? Backend::kCpu : Backend::kCuda;
  status.device = lost ? absl::StrCat(device_->facts().name, ", not used since an error; restart to use it")
                       : device_->facts().name;
  status.fallbacks = fallbacks_.load();
  status.device_errors = health_.errors();
  status.last_device_error = health_.last_error();
  status.resident_bytes = resident_sets_.bytes();
  status.evictions = resident_sets_.evictions();
  return status;
}

std::unique_ptr<ReadoutEngine> OpenCudaEngine(const EngineOptions& options, std::string* why) {
  std::unique_ptr<Device> device = OpenCudaDevice(why);
  if (device == nullptr) return nullptr;
  CudaEngineOptions cuda_options;
  cuda_options.device_bytes = options.device_bytes;
  auto engine = std::make_unique<CudaEngine>(cuda_options, std::move(device),
                                             std::make_unique<CpuEngine>(options.threads));
  *why = engine->Check();
  if (!why->empty()) return nullptr;
  return engine;
}

}  // namespace expunge::attention::cuda
