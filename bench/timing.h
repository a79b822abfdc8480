// Time, and what is typical of many times.
#ifndef EXPUNGE_BENCH_TIMING_H_
#define EXPUNGE_BENCH_TIMING_H_

#include <vector>

namespace expunge::bench {

// kWall: what a caller waits. kThread: processor time of the calling thread, the same on an idle machine,
// since nothing here waits; it leaves out the time that other programs take.
enum class Clock { kWall, kThread };

class Stopwatch {
 public:
  explicit Stopwatch(Clock clock) : clock_(clock), start_(Now()) {}
  // Since it was made.
  [[nodiscard]] double Microseconds() const { return Now() - start_; }

 private:
  [[nodiscard]] double Now() const;

  Clock clock_;
  double start_;
};

// REQUIRES: numbers not empty. P95: the smallest that at least 95 % do not exceed.
[[nodiscard]] double Median(std::vector<double> numbers);
[[nodiscard]] double P95(std::vector<double> numbers);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_TIMING_H_
