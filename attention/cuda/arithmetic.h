// How exactly the kernels compute, for FastErrorBound. What each number rests on is in docs/adr/0017-cuda.md.
#ifndef EXPUNGE_ATTENTION_CUDA_ARITHMETIC_H_
#define EXPUNGE_ATTENTION_CUDA_ARITHMETIC_H_

#include "attention/cuda/launch.h"
#include "attention/error_bound.h"

namespace expunge::attention::cuda {

// `padded_key_dimension` of the image in question.
[[nodiscard]] FastArithmetic ArithmeticOf(Kernel kernel, const ReadoutShape& shape,
                                          size_t padded_key_dimension);

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_ARITHMETIC_H_
