// The audit's findings as a table and as JSON.
#ifndef EXPUNGE_BENCH_EXACTNESS_REPORT_H_
#define EXPUNGE_BENCH_EXACTNESS_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/exactness/regimes.h"
#include "bench/exactness/trial.h"

namespace expunge::bench {

struct Row {
  const Regime* regime = nullptr;
  Findings findings;
};

// Whether every trial completed, with all bits equal and without a fallback.
[[nodiscard]] bool Passed(const Row& row);

// A legend, a line for each regime, and what the paper reports beside it.
[[nodiscard]] std::string FormatTable(const std::vector<Row>& rows);

// An array with one object for each regime; no field depends on time or machine.
[[nodiscard]] std::string FormatJson(const std::vector<Row>& rows, uint64_t seed);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_EXACTNESS_REPORT_H_
