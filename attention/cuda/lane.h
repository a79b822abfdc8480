// One reader's way to the device and back: two streams with staging memory, so that one slice of queries is
// prepared or taken back while the other one is read.
#ifndef EXPUNGE_ATTENTION_CUDA_LANE_H_
#define EXPUNGE_ATTENTION_CUDA_LANE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "attention/cuda/device.h"
#include "attention/cuda/health.h"
#include "attention/cuda/resident_sets.h"
#include "attention/engine.h"

namespace expunge::attention::cuda {

// A task on its way through the device.
struct DeviceTask {
  const ReadoutTask* task = nullptr;
  Readouts* answer = nullptr;
  std::shared_ptr<const ResidentSet> resident;
  // A query is too far away for a bound in this precision: to be read in a more exact way.
  bool too_far = false;
};

[[nodiscard]] size_t QueriesOf(const ReadoutTask& task);

// An answer of the device in `precision`, to be filled.
void PrepareAnswer(const ReadoutTask& task, Precision precision, Readouts* answer);

// Threads: not thread-safe.
class Lane {
 public:
  // `slot_bytes` of staging memory, and as much on the device, for each of two slots. REQUIRES: at least one
  // query, its answer and 4096 bytes fit.
  Lane(Device* device, Health* health, size_t slot_bytes)
      : device_(device), health_(health), slot_bytes_(slot_bytes) {}
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Takes what it needs from the device; false if that fails. Before Read.
  [[nodiscard]] bool Open();
  // Fills the answers of all tasks, but for those that are too far. False if the device failed: then no
  // answer counts. However it ends, and also by an exception (of memory of the host): nothing is under way
  // afterwards, and nothing of the queries and answers is left. REQUIRES: shapes that fit, of all tasks
  // together (ShapeFor); answers prepared in the kernel's precision.
  [[nodiscard]] bool Read(const LaunchShape& shape, absl::Span<DeviceTask> tasks);

 private:
  // Some rows of one task.
  struct Piece {
    DeviceTask* task = nullptr;
    size_t first = 0;
    size_t rows = 0;
    size_t queries = 0;  // offsets in the slot
    size_t outputs = 0;
    size_t sums = 0;
  };
  struct Slot {
    Device::Stream stream = nullptr;
    void* staging = nullptr;
    void* memory = nullptr;
    std::vector<Piece> pieces;  // under way
    size_t used = 0;            // bytes that are not wiped
  };
  struct Cursor {
    size_t task = 0;
    size_t row = 0;
  };

  // Chooses pieces from `cursor` on, as many as fit.
  void Choose(const LaunchShape& shape, absl::Span<DeviceTask> tasks, Cursor* cursor, Slot* slot) const;
  [[nodiscard]] bool Start(const LaunchShape& shape, Slot* slot);
  [[nodiscard]] bool Finish(const LaunchShape& shape, Slot* slot);
  // Waits for what is under way, takes none of it, and wipes the staging memory.
  void Abandon() noexcept;

  Device* const device_;
  Health* const health_;
  const size_t slot_bytes_;
  Slot slots_[2];
};

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_LANE_H_
