// Solvers that stay beside the snapshots, so that a change starts from the state before it.
//
// A solver is in here only while its state is that of a snapshot that readers can see. A change takes it out,
// and gives it back in the state of the next snapshot once that is durable. A change that fails in between
// drops it, and the next one makes another from the snapshot: nothing that was not acknowledged survives.
// All that are kept have max_bytes together at most; beyond that the coldest go, at the cost of making them
// again.
#ifndef EXPUNGE_SERVER_CORE_LIVE_SOLVERS_H_
#define EXPUNGE_SERVER_CORE_LIVE_SOLVERS_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "server/core/memory.h"
#include "solver/exact_memory.h"

namespace expunge::core {

// Threads: any number at once. Those of one memory are ordered by its tenant's writer lock.
class LiveSolvers {
 public:
  explicit LiveSolvers(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // The solver in the state of `snapshot`: the one that is kept, or a new one. It is the caller's now.
  // Cost: O(1), or that of ExactMemory::Open. Returns: as ExactMemory::Open.
  [[nodiscard]] absl::StatusOr<std::unique_ptr<solver::ExactMemory>> Take(const MemoryView& snapshot);

  // Keeps `solver`, which is in the state of `snapshot`. One that is beyond the bound by itself is dropped,
  // and drops no other.
  void Keep(const MemoryView& snapshot, std::unique_ptr<solver::ExactMemory> solver);

  // Drops the solver of a memory that is gone.
  void Drop(const MemoryView& snapshot);

  struct Usage {
    uint64_t kept = 0;     // solvers
    uint64_t bytes = 0;    // of these, beyond the tokens
    uint64_t opened = 0;   // made from a snapshot, ever
    uint64_t evicted = 0;  // dropped for the bound, ever
  };
  [[nodiscard]] Usage usage() const;

 private:
  struct Slot {
    Digest memory{};  // its pseudonym
    uint64_t epoch = 0;
    uint64_t bytes = 0;
    std::unique_ptr<solver::ExactMemory> solver;
  };
  using Slots = std::list<Slot>;

  // Moves the memory's slot, if there is one, to the end of `out`. REQUIRES: mutex_ held.
  void Extract(const Digest& memory, Slots* out);

  const uint64_t max_bytes_;
  mutable std::mutex mutex_;
  Slots slots_;  // the coldest first
  std::map<Digest, Slots::iterator> by_memory_;
  Usage usage_;
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_LIVE_SOLVERS_H_
