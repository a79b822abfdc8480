// The fast form of a support set (packed_support.h) in doubles, row by row, and its images in the layouts of
// the kernels. Plain C++.
#ifndef EXPUNGE_ATTENTION_CUDA_FAST_ROWS_H_
#define EXPUNGE_ATTENTION_CUDA_FAST_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "attention/cuda/launch.h"
#include "attention/cuda/wiped.h"
#include "attention/error_bound.h"

namespace expunge::attention::cuda {

// A support set as it is: row-major keys and values, and log a_i.
struct SupportRows {
  size_t tokens = 0;  // >= 1
  size_t key_dimension = 0;
  size_t value_dimension = 0;
  const double* keys = nullptr;
  const double* values = nullptr;
  const double* log_weights = nullptr;
  double gamma = 0;
};

// y_i, b_i, u_i, and what belongs to them.
struct FastRows {
  size_t tokens = 0;
  size_t key_dimension = 0;
  size_t value_dimension = 0;
  Wiped<double> keys;    // y_i
  Wiped<double> bias;    // b_i
  Wiped<double> values;  // u_i
  Wiped<double> key_centre;
  Wiped<double> value_centre;
  double value_scale = 1;
  FastNorms norms;
  bool fits_double = false;  // every number and norm is finite: without that there is no fast form
  bool fits_float = false;   // besides, magnitudes are at most 2^120

  [[nodiscard]] bool Fit(Kernel kernel) const {
    return kernel == Kernel::kFloat64 ? fits_double : fits_float;
  }
};

// Cost: O(tokens (key_dimension + value_dimension)).
[[nodiscard]] FastRows MakeFastRows(const SupportRows& support);

// One piece of memory with everything of a support set that a kernel reads; the device gets a copy of it.
struct SupportImage {
  Wiped<char> bytes;
  size_t bias = 0;  // offsets of the parts; keys are at 0
  size_t values = 0;
  size_t value_centre = 0;
  // rows, queries and outputs are left for the launch; pointers are those of an image at address 0.
  Group group;

  // `group` of a copy at `base`.
  [[nodiscard]] Group At(const void* base) const;
};

// In the layout of `kernel`: keys padded with 0 to whole tiles of tokens and to the kernel's multiple of
// dimensions, biases with -infinity.
//   kFloat64, kBfloat16   keys [tokens][key dimension]; values transposed, [value dimension][tokens]
//   kFloat32              keys [tokens / 128][key dimension][128]; values [tokens][value dimension]
// Cost: O(tokens (key_dimension + value_dimension)). REQUIRES: rows.Fit(kernel).
[[nodiscard]] SupportImage MakeSupportImage(const FastRows& rows, Kernel kernel);

// What such an image takes, without making it.
[[nodiscard]] size_t SupportImageBytes(size_t tokens, size_t key_dimension, size_t value_dimension,
                                       Kernel kernel);

struct KernelTraits {
  size_t element_bytes = 0;      // of keys, values and queries
  size_t accumulator_bytes = 0;  // of biases, centres, outputs and sums
  size_t token_padding = 0;
  size_t key_padding = 0;
  size_t value_padding = 0;
};
[[nodiscard]] KernelTraits TraitsOf(Kernel kernel);

// Writes q - c of one query for `kernel`: padded_key_dimension elements, the last ones 0. Returns
// |q - c|_2, of q - c as it was stored, as doubles compute it. Query: float or double.
template <typename Query>
double StoreQuery(const Query* query, const double* centre, size_t key_dimension, size_t padded_key_dimension,
                  Kernel kernel, void* to);

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_FAST_ROWS_H_
