#include "bench/solver/measurement.h"

#include <time.h>

#include <algorithm>

#include "absl/strings/str_format.h"

namespace expunge::bench {

double Stopwatch::Now() const {
  timespec now = {};
  clock_gettime(clock_ == Clock::kWall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

const char* Name(Op op) {
  switch (op) {
    case Op::kDeleteMargin:
      return "delete_margin";
    case Op::kDeleteError:
      return "delete_error";
    case Op::kDeleteReserve:
      return "delete_reserve";
    case Op::kAddSupport:
      return "add_support";
    case Op::kAddReserve:
      return "add_reserve";
  }
  return "";
}

const char* ShapeName(const Setting& setting) {
  return setting.shape == Shape::kGaussian ? "gaussian" : "clustered";
}

std::string BoxName(const Setting& setting) {
  const double inverse = setting.box.min_support > 0 ? setting.box.min_support - 0.5 : 1 / setting.box.value;
  return absl::StrFormat("1/%g", inverse);
}

double BoxValue(const Setting& setting) {
  return setting.box.min_support > 0 ? 2.0 / (2.0 * setting.box.min_support - 1) : setting.box.value;
}

std::string Describe(const Setting& setting) {
  return absl::StrFormat("%s, n %d, C %s", ShapeName(setting), setting.n, BoxName(setting));
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
