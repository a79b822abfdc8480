// What answers readouts for all memories: the engine, the combiner before it, and counts of what they did.
#ifndef EXPUNGE_SERVER_CORE_READS_H_
#define EXPUNGE_SERVER_CORE_READS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/combiner.h"
#include "attention/engine.h"
#include "expunge/v1/admin_service.pb.h"

namespace expunge::core {

[[nodiscard]] v1::ReadoutPrecision PrecisionProto(attention::Precision precision);
[[nodiscard]] v1::ReadoutBackend BackendProto(attention::Backend backend);
// Unspecified: certified. Returns: kOutOfRange, field "precision", for a number without a name.
[[nodiscard]] absl::StatusOr<attention::Precision> PrecisionFromProto(v1::ReadoutPrecision precision);

// Threads: any number at once.
class Reads {
 public:
  // `options`: those that the engine was made with.
  Reads(std::unique_ptr<attention::ReadoutEngine> engine, const attention::EngineOptions& options,
        std::chrono::nanoseconds batch_delay);

  // As attention::ReadoutEngine::Read: small reads may be put together with those of other threads.
  void Read(absl::Span<const attention::ReadoutTask> tasks, absl::Span<attention::Readouts> answers);

  // `next` takes the place of `previous`, either may be null: copies of `previous` are wiped. Nothing, if
  // both are the same.
  void Publish(const std::shared_ptr<const attention::SupportSet>& previous,
               const std::shared_ptr<const attention::SupportSet>& next);

  [[nodiscard]] v1::ReadoutStatus Status() const;

 private:
  static constexpr size_t kPrecisions = 4;
  struct Count {
    std::atomic<uint64_t> requests = 0;
    std::atomic<uint64_t> queries = 0;
  };

  const std::unique_ptr<attention::ReadoutEngine> engine_;
  attention::ReadoutCombiner combiner_;
  std::array<Count, kPrecisions> counts_;
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_READS_H_
