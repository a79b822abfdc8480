// Runs kernels on a device and compares what they write. Plain C++: tests run it on an emulated device, too.
#ifndef EXPUNGE_ATTENTION_CUDA_CHECK_COMPARISON_H_
#define EXPUNGE_ATTENTION_CUDA_CHECK_COMPARISON_H_

#include <cstddef>
#include <string>
#include <vector>

#include "attention/cuda/check/reference.h"
#include "attention/cuda/device.h"
#include "attention/cuda/launch.h"

namespace expunge::attention::cuda::check {

// How queries are made.
enum class QueryKind {
  kFloats,   // about the keys; floats as doubles
  kDoubles,  // the same, no floats
  kFar,      // a thousand times as far away: one token outweighs all others
};

struct GroupCase {
  size_t tokens = 0;
  size_t d = 0;
  size_t dv = 0;
  size_t rows = 0;
  QueryKind queries = QueryKind::kFloats;
};

// Of all compared rows of a launch.
struct Comparison {
  std::string failure;     // empty: all is well
  double error = 0;        // largest |o - o*|_2 relative to the spread of the values
  double plain_error = 0;  // of the plain implementation
  double bound_use = 0;    // largest |o - o*|_2 / FastErrorBound
  size_t compared = 0;     // rows compared; all others were written and are finite
};

// Reads all cases in one launch, `launches` times. `rows_compared` of each case at most, the first and the
// last among them. It fails if a row was not written, something beside the outputs was, an error exceeds
// twice that of the plain implementation (but for far queries, where roundings decide which token weighs), or
// its bound; if a bound is infinite; and if nothing differs from the reference at all, as that cannot be.
[[nodiscard]] Comparison Compare(Device* device, Kernel kernel, const std::vector<GroupCase>& cases,
                                 size_t rows_compared, int launches = 1);

// Two threads at once, each with a stream of its own, launch shapes in turn that need little shared memory
// and much: `rounds` times `launches` of each. Empty, or what failed.
[[nodiscard]] std::string CompareTogether(Device* device, Kernel kernel, int rounds, int launches);

// How much an addition of the kernel loses at most, measured on logits whose terms cancel or differ in size,
// as a part of the sum of magnitudes for each addition on the way: below ArithmeticOf(kernel).arithmetic, or
// `failure` says so.
struct ArithmeticMeasurement {
  std::string failure;
  double largest = 0;  // for each addition
  double total = 0;    // of a whole sum
  double assumed = 0;
};
[[nodiscard]] ArithmeticMeasurement MeasureArithmetic(Device* device, Kernel kernel);

[[nodiscard]] const char* NameOf(Kernel kernel);

}  // namespace expunge::attention::cuda::check

#endif  // EXPUNGE_ATTENTION_CUDA_CHECK_COMPARISON_H_
