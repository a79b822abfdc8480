// What the kernels are compared with: a support set, its readout in long double, and plain implementations of
// the fast form in each precision. Plain C++ loops.
#ifndef EXPUNGE_ATTENTION_CUDA_CHECK_REFERENCE_H_
#define EXPUNGE_ATTENTION_CUDA_CHECK_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attention/cuda/fast_rows.h"
#include "attention/cuda/launch.h"
#include "attention/error_bound.h"

namespace expunge::attention::cuda::check {

// Our own generator: the same numbers everywhere. Normally distributed, or nearly.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}
  double Uniform();  // in [0, 1)
  double Normal();

 private:
  uint64_t state_;
};

struct Memory {
  size_t tokens = 0;
  size_t d = 0;
  size_t dv = 0;
  double gamma = 0;
  std::vector<double> keys;
  std::vector<double> values;
  std::vector<double> log_weights;
};

// Keys about 1, values about -2, with a common offset; logits spread over a few units.
[[nodiscard]] Memory MakeMemory(size_t tokens, size_t d, size_t dv, uint64_t seed);
[[nodiscard]] FastRows FastRowsOf(const Memory& memory);
[[nodiscard]] ValueBounds BoundsOf(const Memory& memory);

// The readout of one query, in long double.
[[nodiscard]] std::vector<double> Exact(const Memory& memory, const double* query);

// The same by the fast form, one token after the other, in the arithmetic of `kernel`: double, float, or
// bfloat16 with sums in float.
[[nodiscard]] std::vector<double> Plain(const FastRows& rows, const double* query, Kernel kernel);

}  // namespace expunge::attention::cuda::check

#endif  // EXPUNGE_ATTENTION_CUDA_CHECK_REFERENCE_H_
