#include "server/core/live_solvers.h"

#include <utility>

namespace expunge::core {

// Solvers are destroyed outside the lock: they may be large.

void LiveSolvers::Extract(const Digest& memory, Slots* out) {
  const auto found = by_memory_.find(memory);
  if (found == by_memory_.end()) return;
  usage_.bytes -= found->second->bytes;
  --usage_.kept;
  out->splice(out->end(), slots_, found->second);
  by_memory_.erase(found);
}

absl::StatusOr<std::unique_ptr<solver::ExactMemory>> LiveSolvers::Take(const MemoryView& snapshot) {
  Slots taken;
  {
    const std::lock_guard lock(mutex_);
    Extract(snapshot.identity().pseudonym, &taken);
    const bool usable = !taken.empty() && taken.front().epoch == snapshot.epoch();
    if (usable) return std::move(taken.front().solver);
    ++usage_.opened;
  }
  return solver::ExactMemory::Open(snapshot.State());
}

void LiveSolvers::Keep(const MemoryView& snapshot, std::unique_ptr<solver::ExactMemory> solver) {
  const Digest& memory = snapshot.identity().pseudonym;
  const uint64_t bytes = solver->ByteSize();
  Slots kept;
  kept.push_back({memory, snapshot.epoch(), bytes, std::move(solver)});
  Slots dropped;
  const std::lock_guard lock(mutex_);
  Extract(memory, &dropped);
  if (bytes > max_bytes_) {
    ++usage_.evicted;
    return;
  }
  by_memory_[memory] = kept.begin();
  slots_.splice(slots_.end(), kept);
  usage_.bytes += bytes;
  ++usage_.kept;
  while (usage_.bytes > max_bytes_) {
    ++usage_.evicted;
    Extract(slots_.front().memory, &dropped);
  }
}

void LiveSolvers::Drop(const MemoryView& snapshot) {
  Slots dropped;
  const std::lock_guard lock(mutex_);
  Extract(snapshot.identity().pseudonym, &dropped);
}

LiveSolvers::Usage LiveSolvers::usage() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

}  // namespace expunge::core
