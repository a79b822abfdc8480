// What readouts are compared with: the machine's matrix product, and a softmax over all tokens built from it.
#ifndef EXPUNGE_BENCH_READOUT_BASELINES_H_
#define EXPUNGE_BENCH_READOUT_BASELINES_H_

#include <cstddef>
#include <memory>
#include <vector>

namespace expunge::bench {

inline constexpr double kProductFlop = 2.0 * 1024 * 1024 * 1024;

// Threads: one.
template <typename T>
class Baselines {
 public:
  Baselines() = default;
  virtual ~Baselines() = default;
  Baselines(const Baselines&) = delete;
  Baselines& operator=(const Baselines&) = delete;

  // A product of matrices: kProductFlop operations.
  virtual void Product() = 0;
  // softmax(-gamma |q - x_i|^2) over all tokens, as attention without a support set reads. `queries` and
  // `outputs`: count x dimension, row-major.
  virtual void FullSoftmax(const T* queries, size_t count, T* outputs) = 0;
};

// By OpenBLAS, with one thread; null in a build without it. `keys` and `values`: of all tokens, row-major,
// with rows of `dimension`. T: float or double.
template <typename T>
[[nodiscard]] std::unique_ptr<Baselines<T>> MakeBaselines(std::vector<T> keys, std::vector<T> values,
                                                          size_t dimension, T gamma);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_READOUT_BASELINES_H_
