#include "bench/solver/baselines.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "solver/reference_solver.h"

namespace expunge::bench {
namespace {

constexpr size_t kBlock = 2048;  // sums that stay in the fastest cache
constexpr int kFloorRuns = 31;

// sums[j] += factors . (column j of `rows`), four rows at a time.
void Accumulate(const std::vector<float>& rows, const std::vector<float>& factors, std::vector<float>* sums) {
  const size_t n = sums->size();
  for (size_t begin = 0; begin < n; begin += kBlock) {
    const size_t width = std::min(kBlock, n - begin);
    float* const out = sums->data() + begin;
    size_t i = 0;
    for (; i + 4 <= factors.size(); i += 4) {
      const float* const row = rows.data() + i * n + begin;
      const float f0 = factors[i];
      const float f1 = factors[i + 1];
      const float f2 = factors[i + 2];
      const float f3 = factors[i + 3];
      for (size_t j = 0; j < width; ++j)
        out[j] += f0 * row[j] + f1 * row[n + j] + f2 * row[2 * n + j] + f3 * row[3 * n + j];
    }
    for (; i < factors.size(); ++i) {
      const float* const row = rows.data() + i * n + begin;
      for (size_t j = 0; j < width; ++j) out[j] += factors[i] * row[j];
    }
  }
}

}  // namespace

absl::StatusOr<ColdSolve> TimeColdSolve(const solver::Config& config, const solver::TokenList& tokens,
                                        int runs, Clock clock) {
  ColdSolve cold;
  std::vector<double> times;
  for (int run = 0; run < runs; ++run) {
    const Stopwatch stopwatch(clock);
    EXPUNGE_ASSIGN_OR_RETURN(cold.solution, solver::SolveFromNothing(config, tokens));
    times.push_back(stopwatch.Microseconds());
  }
  cold.us = Median(std::move(times));
  return cold;
}

double TimeFloor(size_t rows, size_t n, Clock clock) {
  const std::vector<float> values(rows * n, 0.25F);
  const std::vector<float> factors(rows, 0.5F);
  std::vector<float> sums(n, 0.0F);
  std::vector<double> times;
  for (int run = 0; run < kFloorRuns; ++run) {
    const Stopwatch stopwatch(clock);
    Accumulate(values, factors, &sums);
    times.push_back(stopwatch.Microseconds());
  }
  // Read, so that no pass can be left out.
  volatile float sink = sums[n / 2];
  static_cast<void>(sink);
  return Median(std::move(times));
}

}  // namespace expunge::bench
