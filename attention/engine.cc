#include "attention/engine.h"

#include "attention/cpu/cpu_engine.h"

namespace expunge::attention {

absl::StatusOr<std::unique_ptr<ReadoutEngine>> MakeReadoutEngine(const EngineOptions& options) {
  if (options.backend == BackendChoice::kCuda) {
    return absl::FailedPreconditionError(
        "this build reads on the CPU alone; choose cpu or auto, or build with EXPUNGE_CUDA=ON");
  }
  return std::make_unique<CpuEngine>(options.threads);
}

}  // namespace expunge::attention
