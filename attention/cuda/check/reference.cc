#include "attention/cuda/check/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/cuda/portable.h"

namespace expunge::attention::cuda::check {
namespace {

// Rounds to what is stored: T of the plain implementation.
struct AsDouble {
  using Sum = double;
  static double Store(double x) { return x; }
};
struct AsFloat {
  using Sum = float;
  static float Store(double x) { return static_cast<float>(x); }
};
struct AsBfloat16 {
  using Sum = float;
  static float Store(double x) { return ToFloat(ToBf16(static_cast<float>(x))); }
};

template <typename As>
std::vector<double> PlainAs(const FastRows& rows, const double* query) {
  using Sum = typename As::Sum;
  const size_t m = rows.tokens;
  const size_t d = rows.key_dimension;
  const size_t dv = rows.value_dimension;
  std::vector<Sum> z(d);
  for (size_t k = 0; k < d; ++k) z[k] = As::Store(query[k] - rows.key_centre[k]);
  std::vector<Sum> logits(m);
  Sum largest = -std::numeric_limits<Sum>::infinity();
  for (size_t i = 0; i < m; ++i) {
    Sum logit = static_cast<Sum>(rows.bias[i]);
    for (size_t k = 0; k < d; ++k) logit += z[k] * static_cast<Sum>(As::Store(rows.keys[i * d + k]));
    logits[i] = logit;
    largest = std::max(largest, logit);
  }
  std::vector<Sum> sums(dv, 0);
  Sum total = 0;
  for (size_t i = 0; i < m; ++i) {
    const Sum p = std::exp2(logits[i] - largest);
    total += p;
    const Sum stored = As::Store(p);
    for (size_t k = 0; k < dv; ++k) sums[k] += stored * static_cast<Sum>(As::Store(rows.values[i * dv + k]));
  }
  std::vector<double> output(dv);
  for (size_t k = 0; k < dv; ++k) {
    const Sum centre = static_cast<Sum>(rows.value_centre[k]);
    output[k] = static_cast<double>(centre + static_cast<Sum>(rows.value_scale) * (sums[k] / total));
  }
  return output;
}

}  // namespace

double Numbers::Uniform() {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return static_cast<double>(state_ >> 11) * 0x1p-53;
}

double Numbers::Normal() {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += Uniform();
  return sum;
}

Memory MakeMemory(size_t tokens, size_t d, size_t dv, uint64_t seed) {
  Numbers numbers(seed);
  Memory memory;
  memory.tokens = tokens;
  memory.d = d;
  memory.dv = dv;
  memory.gamma = 1.0 / static_cast<double>(d);
  for (size_t i = 0; i < tokens * d; ++i) memory.keys.push_back(numbers.Normal() + 1);
  for (size_t i = 0; i < tokens * dv; ++i) memory.values.push_back(3 * numbers.Normal() - 2);
  for (size_t i = 0; i < tokens; ++i) memory.log_weights.push_back(std::log((0.1 + numbers.Uniform()) / 1.1));
  return memory;
}

FastRows FastRowsOf(const Memory& memory) {
  SupportRows rows;
  rows.tokens = memory.tokens;
  rows.key_dimension = memory.d;
  rows.value_dimension = memory.dv;
  rows.keys = memory.keys.data();
  rows.values = memory.values.data();
  rows.log_weights = memory.log_weights.data();
  rows.gamma = memory.gamma;
  return MakeFastRows(rows);
}

ValueBounds BoundsOf(const Memory& memory) {
  double spread = 0;
  double norm = 0;
  for (size_t k = 0; k < memory.dv; ++k) {
    double low = memory.values[k];
    double high = low;
    for (size_t i = 0; i < memory.tokens; ++i) {
      low = std::min(low, memory.values[i * memory.dv + k]);
      high = std::max(high, memory.values[i * memory.dv + k]);
    }
    spread += (high - low) * (high - low);
    norm += std::max(low * low, high * high);
  }
  return {std::sqrt(spread) * (1 + 1e-9), std::sqrt(norm) * (1 + 1e-9), 0};
}

std::vector<double> Exact(const Memory& memory, const double* query) {
  std::vector<long double> logits(memory.tokens);
  long double largest = -std::numeric_limits<long double>::infinity();
  for (size_t i = 0; i < memory.tokens; ++i) {
    long double distance = 0;
    for (size_t k = 0; k < memory.d; ++k) {
      const long double difference = static_cast<long double>(query[k]) - memory.keys[i * memory.d + k];
      distance += difference * difference;
    }
    logits[i] = memory.log_weights[i] - memory.gamma * distance;
    largest = std::max(largest, logits[i]);
  }
  std::vector<long double> sums(memory.dv, 0);
  long double total = 0;
  for (size_t i = 0; i < memory.tokens; ++i) {
    const long double p = std::exp(logits[i] - largest);
    total += p;
    for (size_t k = 0; k < memory.dv; ++k) sums[k] += p * memory.values[i * memory.dv + k];
  }
  std::vector<double> output;
  for (const long double sum : sums) output.push_back(static_cast<double>(sum / total));
  return output;
}

std::vector<double> Plain(const FastRows& rows, const double* query, Kernel kernel) {
  switch (kernel) {
    case Kernel::kFloat64:
      return PlainAs<AsDouble>(rows, query);
    case Kernel::kFloat32:
      return PlainAs<AsFloat>(rows, query);
    case Kernel::kBfloat16:
    case Kernel::kBfloat16Hopper:
      break;
  }
  return PlainAs<AsBfloat16>(rows, query);
}

}  // namespace expunge::attention::cuda::check
