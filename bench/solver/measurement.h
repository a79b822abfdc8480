// What one configuration of the benchmark is, and what was measured of it.
#ifndef EXPUNGE_BENCH_SOLVER_MEASUREMENT_H_
#define EXPUNGE_BENCH_SOLVER_MEASUREMENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/data.h"
#include "bench/timing.h"
#include "solver/memory_state.h"

namespace expunge::bench {

// One call of ExactMemory::Remove or Add with one token. Support: the token goes to S or E, where it was.
enum class Op : size_t { kDeleteMargin, kDeleteError, kDeleteReserve, kAddSupport, kAddReserve };
inline constexpr std::array<Op, 5> kOps = {Op::kDeleteMargin, Op::kDeleteError, Op::kDeleteReserve,
                                           Op::kAddSupport, Op::kAddReserve};
[[nodiscard]] const char* Name(Op op);

struct Setting {
  Shape shape = Shape::kGaussian;
  int64_t n = 0;
  solver::BoxBound box;
};
[[nodiscard]] const char* ShapeName(const Setting& setting);
// C as text ("1/10.5") and as the nearest double.
[[nodiscard]] std::string BoxName(const Setting& setting);
[[nodiscard]] double BoxValue(const Setting& setting);
// "gaussian, n 1000, C 1/10.5".
[[nodiscard]] std::string Describe(const Setting& setting);

// All calls of one kind.
struct Sample {
  std::vector<double> us;
  uint64_t iterations = 0;   // bordered systems solved, in all calls together
  uint64_t set_changes = 0;  // groups that changed their class, likewise
};

struct Row {
  Setting setting;
  size_t margin = 0;  // tokens in S and in E at the start
  size_t error = 0;
  double baseline_c = 0;            // the C with which the next two were measured; see main.cc
  double cold_us = 0;               // SolveFromNothing on the same tokens: median
  std::optional<double> libsvm_us;  // a refit by libsvm
  double floor_us = 0;              // one pass over the kernel rows of S: median
  double bytes_per_token = 0;       // ExactMemory::ByteSize() / n, at the end
  std::array<Sample, kOps.size()> samples;
  uint64_t fallbacks = 0;
  bool bits_equal = false;  // at the end the fingerprint was that of the cold solution

  [[nodiscard]] const Sample& Of(Op op) const { return samples[static_cast<size_t>(op)]; }
  [[nodiscard]] Sample& Of(Op op) { return samples[static_cast<size_t>(op)]; }
};

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_SOLVER_MEASUREMENT_H_
