#include "attention/cuda/cuda_engine.h"

#include <algorithm>
#include <exception>
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
      resident_sets_(device_.get(), &health_, options.device_bytes) {
  lanes_.reserve(options.lanes);
}

// Makes a lane if there is none, waits if there may be no more, and gives it back however its use ends.
class CudaEngine::LaneTicket {
 public:
  explicit LaneTicket(CudaEngine* engine) : engine_(*engine) {
    std::unique_lock<std::mutex> lock(engine_.lanes_mutex_);
    engine_.lane_free_.wait(
        lock, [this] { return !engine_.lanes_.empty() || engine_.lanes_made_ < engine_.options_.lanes; });
    if (engine_.lanes_.empty()) {
      ++engine_.lanes_made_;
      return;
    }
    lane_ = std::move(engine_.lanes_.back());
    engine_.lanes_.pop_back();
  }
  ~LaneTicket() {
    {
      const std::lock_guard<std::mutex> lock(engine_.lanes_mutex_);
      if (lane_ == nullptr) {
        --engine_.lanes_made_;
      } else {
        engine_.lanes_.push_back(std::move(lane_));  // there is room
      }
    }
    engine_.lane_free_.notify_one();
  }
  LaneTicket(const LaneTicket&) = delete;
  LaneTicket& operator=(const LaneTicket&) = delete;

  // Null if the device has no more memory for one, or failed.
  [[nodiscard]] Lane* Get() {
    if (lane_ != nullptr) return lane_.get();
    auto lane = std::make_unique<Lane>(engine_.device_.get(), &engine_.health_, engine_.options_.slot_bytes);
    if (!engine_.health_.lost() && lane->Open()) lane_ = std::move(lane);
    return lane_.get();
  }

 private:
  CudaEngine& engine_;
  std::unique_ptr<Lane> lane_;
};

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
  plan.cpu.reserve(tasks.size());
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
    std::vector<size_t> left;
    try {
      left = ReadOnDevice(tasks, kKernels[k], plan.device[k], answers);
    } catch (const std::exception&) {  // of memory of the host
      left = std::move(plan.device[k]);
    }
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
    PrepareAnswer(tasks[i], PrecisionOf(kernel), &answers[i]);
    on_device.push_back({&tasks[i], &answers[i], std::move(resident)});
  }
  if (taken.empty()) return left;
  const auto largest_rows = static_cast<uint32_t>(std::min(rows, size_t{1} << 20));
  const LaunchShape shape =
      ShapeFor(kernel, largest_key, largest_value, largest_rows, device_->facts().shared_bytes_per_block);
  const bool read = ReadInLane(shape, absl::MakeSpan(on_device));
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

bool CudaEngine::ReadInLane(const LaunchShape& shape, absl::Span<DeviceTask> tasks) {
  LaneTicket ticket(this);
  Lane* lane = ticket.Get();
  return lane != nullptr && lane->Read(shape, tasks);
}

void CudaEngine::Publish(const std::shared_ptr<const SupportSet>& previous,
                         const std::shared_ptr<const SupportSet>& next) noexcept {
  cpu_->Publish(previous, next);
  resident_sets_.Supersede(previous);
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
