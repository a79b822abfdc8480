#include "attention/cuda/arithmetic.h"

#include "attention/cuda/fast_rows.h"

namespace expunge::attention::cuda {

FastArithmetic ArithmeticOf(Kernel kernel, const ReadoutShape& shape, size_t padded_key_dimension) {
  const KernelTraits traits = TraitsOf(kernel);
  const size_t tiles = (shape.tokens + traits.token_padding - 1) / traits.token_padding;
  FastArithmetic arithmetic;
  switch (kernel) {
    case Kernel::kFloat64:
      // IEEE 754; 2^x is ours (portable.h).
      arithmetic.storage = 0x1p-53;
      arithmetic.arithmetic = 0x1p-53;
      arithmetic.exp2 = 0x1p-51;
      arithmetic.range = 1000;
      arithmetic.underflow = 0x1p-1022;
      break;
    case Kernel::kFloat32:
      // IEEE 754, no flush to zero; 2^x is ex2.approx: about 2^-22 by the PTX manual, 2^-21 taken.
      arithmetic.storage = 0x1p-24;
      arithmetic.arithmetic = 0x1p-24;
      arithmetic.exp2 = 0x1p-21;
      arithmetic.range = 126;
      break;
    case Kernel::kBfloat16:
    case Kernel::kBfloat16Hopper:
      // Rounded to float, then to bfloat16: hence a little above 2^-8. Products are exact in float; the sums
      // of tensor cores are assumed to lose at most 2^-22 of the largest term or partial sum in each
      // addition.
      arithmetic.storage = 0x1.001p-8;
      arithmetic.weight_storage = 0x1p-8;
      arithmetic.arithmetic = 0x1p-22;
      arithmetic.exp2 = 0x1p-21;
      arithmetic.range = 126;
      break;
  }
  arithmetic.rescalings = static_cast<double>(tiles);
  arithmetic.key_depth = static_cast<double>(padded_key_dimension + 1);
  // Padding adds zeros, but each addition may still round. Partial sums of threads are added in the end.
  arithmetic.value_depth = static_cast<double>(tiles * traits.token_padding + 8);
  return arithmetic;
}

}  // namespace expunge::attention::cuda
