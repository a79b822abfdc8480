// Measures readouts of one thread beside the baselines, in turns, and readouts of two threads and of many
// memories.
#ifndef EXPUNGE_BENCH_READOUT_RUN_H_
#define EXPUNGE_BENCH_READOUT_RUN_H_

#include <vector>

#include "absl/status/statusor.h"
#include "bench/readout/flat_index.h"
#include "bench/readout/measurement.h"
#include "bench/timing.h"

namespace expunge::bench {

struct RunOptions {
  std::vector<Setting> settings;
  int rounds = 1;              // of which medians are taken
  Clock clock = Clock::kWall;  // of what one thread does
};

// Returns: as attention::MakeReadoutEngine.
[[nodiscard]] absl::StatusOr<Results> Run(const RunOptions& options, const FlatIndexTimes& searches);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_READOUT_RUN_H_
