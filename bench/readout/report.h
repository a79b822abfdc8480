// The measurements as a table and as JSON.
#ifndef EXPUNGE_BENCH_READOUT_REPORT_H_
#define EXPUNGE_BENCH_READOUT_REPORT_H_

#include <string>

#include "bench/readout/measurement.h"

namespace expunge::bench {

[[nodiscard]] std::string FormatTables(const Results& results);
// What the table says about each aim, with the number that was measured.
[[nodiscard]] std::string FormatSummary(const Results& results);
// null where a baseline was left out.
[[nodiscard]] std::string FormatJson(const Results& results);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_READOUT_REPORT_H_
