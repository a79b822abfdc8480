// What the measurements say together, and whether they are as good as they should be.
#ifndef EXPUNGE_BENCH_SOLVER_SUMMARY_H_
#define EXPUNGE_BENCH_SOLVER_SUMMARY_H_

#include <string>
#include <vector>

#include "bench/solver/measurement.h"

namespace expunge::bench {

// For each n the median and the least over the grid of how much faster deletions are; the worst spread;
// growth with n; and each target with the configurations that are short of it.
[[nodiscard]] std::string FormatSummary(const std::vector<Row>& rows);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_SOLVER_SUMMARY_H_
