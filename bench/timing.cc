#include "bench/timing.h"

#include <time.h>

#include <algorithm>

namespace expunge::bench {

double Stopwatch::Now() const {
  timespec now = {};
  clock_gettime(clock_ == Clock::kWall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

double Median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const size_t half = numbers.size() / 2;
  return numbers.size() % 2 == 1 ? numbers[half] : (numbers[half - 1] + numbers[half]) / 2;
}

double P95(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[(numbers.size() * 95 + 99) / 100 - 1];
}

}  // namespace expunge::bench
