#include "attention/engine.h"

#include <utility>

#include "attention/cpu/cpu_engine.h"
#include "attention/cuda/cuda_engine.h"
#include "attention/cuda/device.h"

namespace expunge::attention {

absl::StatusOr<std::unique_ptr<ReadoutEngine>> MakeReadoutEngine(const EngineOptions& options) {
  auto cpu = std::make_unique<CpuEngine>(options.threads);
  if (options.backend == BackendChoice::kCpu) return cpu;
  return cuda::MakeCudaEngine(options, std::move(cpu));
}

std::string WhyNoDevice() {
  std::string why;
  return cuda::OpenCudaDevice(&why) == nullptr ? why : "";
}

}  // namespace expunge::attention
