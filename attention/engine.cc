#include "attention/engine.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attention/cpu/cpu_engine.h"
#include "attention/cuda/cuda_engine.h"

namespace expunge::attention {

absl::StatusOr<std::unique_ptr<ReadoutEngine>> MakeReadoutEngine(const EngineOptions& options) {
  if (options.backend == BackendChoice::kCpu) return std::make_unique<CpuEngine>(options.threads);
  std::string why;
  auto engine = cuda::OpenCudaEngine(options, &why);
  if (engine != nullptr) return engine;
  if (options.backend == BackendChoice::kAuto) return std::make_unique<CpuEngine>(options.threads, why);
  return absl::FailedPreconditionError(
      absl::StrCat("no CUDA device can be used: ", why, "; readouts by the CPU need --readout=cpu or auto"));
}

}  // namespace expunge::attention
