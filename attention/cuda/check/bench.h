// How fast the kernels are on the device present, beside its limits.
#ifndef EXPUNGE_ATTENTION_CUDA_CHECK_BENCH_H_
#define EXPUNGE_ATTENTION_CUDA_CHECK_BENCH_H_

#include "attention/cuda/device.h"

namespace expunge::attention::cuda::check {

// Prints the tables. False if the device failed. Data is on the device before and after: what is timed is the
// kernel, by events, the median of several runs.
[[nodiscard]] bool RunBenchmarks(Device* device, bool quick);

}  // namespace expunge::attention::cuda::check

#endif  // EXPUNGE_ATTENTION_CUDA_CHECK_BENCH_H_
