// Small reads of many threads, put together: one launch or one pass of the engine instead of many.
//
// A read of at most `small_queries` queries that finds `lanes` groups being computed waits for the first of
// them to end, and then whoever has waited longest takes all that wait (as many as `group_queries` allow) to
// the engine as one group. With a delay, it also waits at most that long for company although a lane is free,
// but only while another read is in flight: alone it runs at once. Without a delay nothing waits while a lane
// is free. Larger reads go to the engine at once.
//
// Invariants.  (1) Those who wait are served in the order in which they came: a group is a beginning of the
// queue, and while somebody waits no newcomer overtakes. (2) Of those who wait, the first alone leads; it is
// woken when a lane becomes free, when nothing else is in flight, when the group is full, and when its delay
// is over. (3) What a read of a group throws, its own caller gets, and nobody else.
#ifndef EXPUNGE_ATTENTION_COMBINER_H_
#define EXPUNGE_ATTENTION_COMBINER_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "absl/types/span.h"
#include "attention/engine.h"

namespace expunge::attention {

struct CombinerOptions {
  size_t lanes = 1;                   // groups of small reads that are computed at once; >= 1
  std::chrono::nanoseconds delay{0};  // how long a small read may wait for company
  size_t small_queries = 16;          // of the largest small read
  size_t group_queries = 1024;        // of the largest group
};

struct CombinerCounts {
  uint64_t groups = 0;    // that had more than one read, since the start
  uint64_t combined = 0;  // reads in them
  size_t waiting = 0;     // small reads, now
};

// Threads: any number of calls at once.
class ReadoutCombiner {
 public:
  // `engine` outlives it.
  ReadoutCombiner(ReadoutEngine* engine, const CombinerOptions& options);
  ReadoutCombiner(const ReadoutCombiner&) = delete;
  ReadoutCombiner& operator=(const ReadoutCombiner&) = delete;

  // As ReadoutEngine::Read, whose exceptions pass; the answers are then unspecified.
  void Read(absl::Span<const ReadoutTask> tasks, absl::Span<Readouts> answers);

  [[nodiscard]] CombinerCounts Counts() const;

 private:
  struct Waiting;
  class InFlight;

  void ReadAlone(absl::Span<const ReadoutTask> tasks, absl::Span<Readouts> answers);
  void ReadSmall(Waiting* own);
  // Whether the first of the queue may lead now. REQUIRES: mutex_ held, and there is one.
  [[nodiscard]] bool MayLead(std::chrono::steady_clock::time_point now) const;
  // Takes the next group from the queue, linked; likewise.
  [[nodiscard]] Waiting* TakeGroup();
  void Compute(Waiting* group);
  void ComputeTogether(Waiting* group);
  // REQUIRES: mutex_ held.
  void WakeFirst();

  ReadoutEngine& engine_;
  const CombinerOptions options_;
  mutable std::mutex mutex_;
  // The queue, linked through those who wait: nothing is allocated while one of them could be left behind.
  Waiting* first_ = nullptr;  // guarded by mutex_, as all below
  Waiting* last_ = nullptr;
  size_t queued_queries_ = 0;
  size_t lanes_in_use_ = 0;
  size_t in_flight_ = 0;  // reads and groups in the engine, large ones too
  CombinerCounts counts_;
};

}  // namespace expunge::attention

#endif  // EXPUNGE_ATTENTION_COMBINER_H_
