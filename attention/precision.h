// How exactly a readout is computed, and by what. Plain C++: device code includes it.
#ifndef EXPUNGE_ATTENTION_PRECISION_H_
#define EXPUNGE_ATTENTION_PRECISION_H_

namespace expunge::attention {

enum class Backend { kCpu, kCuda };

enum class Precision {
  kCertified,  // doubles in one fixed order of operations: the same bits from every machine; always the CPU
  kFloat64,    // doubles, in whatever order is fast
  kFloat32,    // keys, values, queries and sums in float
  kBfloat16,   // keys, values, queries and weights in bfloat16, sums in float, on tensor cores
};

// "cpu", "cuda".
[[nodiscard]] const char* NameOf(Backend backend);
// "certified", "float64", "float32", "bfloat16".
[[nodiscard]] const char* NameOf(Precision precision);

}  // namespace expunge::attention

#endif  // EXPUNGE_ATTENTION_PRECISION_H_
