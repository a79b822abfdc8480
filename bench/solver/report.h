// The measurements as tables and as JSON.
#ifndef EXPUNGE_BENCH_SOLVER_REPORT_H_
#define EXPUNGE_BENCH_SOLVER_REPORT_H_

#include <string>
#include <vector>

#include "bench/solver/measurement.h"

namespace expunge::bench {

// A legend and three tables: the memories, the times of their operations, and how much faster these are than
// solving anew.
[[nodiscard]] std::string FormatTables(const std::vector<Row>& rows, Clock clock, bool has_libsvm);

// An array with one object for each configuration and operation; null where libsvm was left out.
[[nodiscard]] std::string FormatJson(const std::vector<Row>& rows, Clock clock);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_SOLVER_REPORT_H_
