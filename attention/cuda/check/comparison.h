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

struct GroupCase {
  size_t tokens = 0;
  size_t d = 0;
  size_t dv = 0;
  size_t rows = 0;
};

// Of all compared rows of a launch.
struct Comparison {
  std::string failure;     // empty: all is well
  double error = 0;        // largest |o - o*|_2 relative to the spread of the values
  double plain_error = 0;  // of the plain implementation
  double bound_use = 0;    // largest |o - o*|_2 / FastErrorBound
  size_t compared = 0;     // rows compared; all others were written and are finite
};

// Reads all cases in one launch. `rows_compared` of each case at most, the first and the last among them.
// It fails if a row was not written, something beside the outputs was, an error exceeds twice that of the
// plain implementation, or its bound.
[[nodiscard]] Comparison Compare(Device* device, Kernel kernel, const std::vector<GroupCase>& cases,
                                 size_t rows_compared);

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
