#include "server/core/reads.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/error.h"

namespace expunge::core {
namespace {

using attention::Backend;
using attention::Precision;

constexpr std::array<Precision, 4> kAllPrecisions = {Precision::kCertified, Precision::kFloat64,
                                                     Precision::kFloat32, Precision::kBfloat16};

attention::CombinerOptions CombinerOptionsFor(const attention::EngineOptions& options,
                                              std::chrono::nanoseconds batch_delay) {
  attention::CombinerOptions made;
  // Of small reads each thread of the CPU computes a group: with a device, too, many of them are for the CPU.
  made.lanes = options.threads > 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  made.delay = batch_delay;
  return made;
}

}  // namespace

v1::ReadoutPrecision PrecisionProto(attention::Precision precision) {
  switch (precision) {
    case Precision::kCertified:
      return v1::READOUT_PRECISION_CERTIFIED;
    case Precision::kFloat64:
      return v1::READOUT_PRECISION_FLOAT64;
    case Precision::kFloat32:
      return v1::READOUT_PRECISION_FLOAT32;
    case Precision::kBfloat16:
      return v1::READOUT_PRECISION_BFLOAT16;
  }
  return v1::READOUT_PRECISION_UNSPECIFIED;
}

v1::ReadoutBackend BackendProto(attention::Backend backend) {
  return backend == Backend::kCuda ? v1::READOUT_BACKEND_CUDA : v1::READOUT_BACKEND_CPU;
}

absl::StatusOr<attention::Precision> PrecisionFromProto(v1::ReadoutPrecision precision) {
  switch (precision) {
    case v1::READOUT_PRECISION_UNSPECIFIED:
    case v1::READOUT_PRECISION_CERTIFIED:
      return Precision::kCertified;
    case v1::READOUT_PRECISION_FLOAT64:
      return Precision::kFloat64;
    case v1::READOUT_PRECISION_FLOAT32:
      return Precision::kFloat32;
    case v1::READOUT_PRECISION_BFLOAT16:
      return Precision::kBfloat16;
    default:
      return MakeError(Reason::kOutOfRange, "precision",
                       "precision must be CERTIFIED, FLOAT64, FLOAT32 or BFLOAT16");
  }
}

Reads::Reads(std::unique_ptr<attention::ReadoutEngine> engine, const attention::EngineOptions& options,
             std::chrono::nanoseconds batch_delay)
    : engine_(std::move(engine)), combiner_(engine_.get(), CombinerOptionsFor(options, batch_delay)) {}

void Reads::Read(absl::Span<const attention::ReadoutTask> tasks, absl::Span<attention::Readouts> answers) {
  combiner_.Read(tasks, answers);
  for (const attention::Readouts& answer : answers) {
    Count& count = counts_.at(static_cast<size_t>(answer.precision));
    ++count.requests;
    count.queries += answer.error_bounds.size();
  }
}

void Reads::Publish(const std::shared_ptr<const attention::SupportSet>& previous,
                    const std::shared_ptr<const attention::SupportSet>& next) {
  if (previous != next) engine_->Publish(previous, next);
}

v1::ReadoutStatus Reads::Status() const {
  const attention::EngineStatus engine = engine_->Status();
  v1::ReadoutStatus status;
  status.set_backend(BackendProto(engine.backend));
  status.set_device(engine.device);
  status.set_fallback_count(engine.fallbacks);
  status.set_device_error_count(engine.device_errors);
  status.set_last_device_error(engine.last_device_error);
  status.set_resident_bytes(engine.resident_bytes);
  status.set_eviction_count(engine.evictions);
  for (const Precision precision : kAllPrecisions) {
    const Count& count = counts_.at(static_cast<size_t>(precision));
    v1::ReadoutCount* shown = status.add_counts();
    shown->set_precision(PrecisionProto(precision));
    shown->set_request_count(count.requests);
    shown->set_query_count(count.queries);
  }
  return status;
}

}  // namespace expunge::core
