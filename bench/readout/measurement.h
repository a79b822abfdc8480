// What one configuration of the benchmark is, and what was measured of it.
#ifndef EXPUNGE_BENCH_READOUT_MEASUREMENT_H_
#define EXPUNGE_BENCH_READOUT_MEASUREMENT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attention/precision.h"

namespace expunge::bench {

// d = dv.
struct Setting {
  size_t support = 0;
  size_t dimension = 0;
  size_t queries = 0;
};

struct Row {
  Setting setting;
  attention::Precision precision = attention::Precision::kCertified;
  double us = 0;                     // a query: median
  std::optional<double> gemm_share;  // of the operations a second of a matrix product in this type
  // How many times longer a query takes: by a softmax over all tokens, in this type; by an exact search of an
  // index for as many tokens as the support has.
  std::optional<double> softmax_ratio;
  std::optional<double> search_ratio;
  double bound = 0;    // the largest error bound of an answer
  bool holds = false;  // no answer differs from the certified one by more than both bounds
};

// The same readouts, done in two ways.
struct Pair {
  attention::Precision precision = attention::Precision::kCertified;
  double us = 0;     // of all readouts: one thread; one memory
  double other = 0;  // two threads; as many memories as queries
};

struct Results {
  std::vector<Row> rows;
  std::optional<double> gemm_gflops_f32;
  std::optional<double> gemm_gflops_f64;
  Setting pair_setting;
  std::vector<Pair> threads;  // empty on a machine with one core
  std::vector<Pair> memories;
};

// A multiplication and an addition for each element of keys and values, and one for an exponential.
[[nodiscard]] inline double FlopOfQuery(const Setting& s) {
  return static_cast<double>(s.support) * (4.0 * static_cast<double>(s.dimension) + 1);
}

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_READOUT_MEASUREMENT_H_
