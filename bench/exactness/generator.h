// Random numbers of the audit: the same from every compiler and standard library.
#ifndef EXPUNGE_BENCH_EXACTNESS_GENERATOR_H_
#define EXPUNGE_BENCH_EXACTNESS_GENERATOR_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "solver/kernel.h"

namespace expunge::bench {

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
class Generator {
 public:
  // A stream of its own for each seed, name and number.
  Generator(uint64_t seed, absl::string_view name, uint64_t number) : state_(seed) {
    for (const char c : name) state_ = Next() ^ static_cast<unsigned char>(c);
    state_ = Next() ^ number;
    state_ = Next();
  }

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // 0 to bound - 1. REQUIRES: 0 < bound, small against 2^64.
  size_t Below(size_t bound) { return static_cast<size_t>(Next() % bound); }

  // Uniform in (0, 1).
  double Uniform() { return (static_cast<double>(Next() >> 12) + 0.5) * 0x1p-52; }

  // Standard normal, by the ratio of uniforms (Kinderman and Monahan 1977), with our own exponential.
  double Normal() {
    constexpr double kWidth = 0.857763884960707;  // sqrt(2/e)
    for (;;) {
      const double u = Uniform();
      const double x = kWidth * (2 * Uniform() - 1) / u;
      if (u <= solver::ExpOfNegative(x * x / 4)) return x;
    }
  }

  std::vector<double> Normals(size_t count) {
    std::vector<double> numbers(count);
    for (double& x : numbers) x = Normal();
    return numbers;
  }

  template <typename T>
  void Shuffle(std::vector<T>* items) {
    for (size_t i = items->size(); i > 1; --i) std::swap((*items)[i - 1], (*items)[Below(i)]);
  }

 private:
  uint64_t state_;
};

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_EXACTNESS_GENERATOR_H_
