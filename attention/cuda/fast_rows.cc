#include "attention/cuda/fast_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/cuda/portable.h"

namespace expunge::attention::cuda {
namespace {

constexpr double kLog2E = 1.4426950408889634;
// Covers the rounding of a norm's own evaluation.
constexpr double kOutward = 1 + 0x1p-20;
constexpr double kUnderflow = 0x1p-500;  // squares below the normal range

// About the mean of the rows, representable in float.
Wiped<double> CentreOf(const double* rows, size_t count, size_t dimension) {
  Wiped<double> centre(dimension, 0.0);
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < dimension; ++k) {
      centre[k] += rows[i * dimension + k] / static_cast<double>(count);
    }
  }
  constexpr double kLargest = std::numeric_limits<float>::max();
  for (double& x : centre) x = static_cast<float>(std::clamp(x, -kLargest, kLargest));
  return centre;
}

double SquareSum(const double* row, size_t dimension) {
  double sum = 0;
  for (size_t k = 0; k < dimension; ++k) sum += row[k] * row[k];
  return sum;
}

double NormUpper(const double* row, size_t dimension) {
  return std::sqrt(SquareSum(row, dimension)) * kOutward + kUnderflow;
}

// `largest` becomes |x| if that is larger, and infinite if x is no number.
void Raise(double x, double* largest) {
  const double magnitude = std::isnan(x) ? std::numeric_limits<double>::infinity() : std::fabs(x);
  *largest = std::max(*largest, magnitude);
}

// A power of two t with largest / t in [1, 2); 1 for 0.
double ScaleOf(double largest) {
  if (!(largest > 0) || !std::isfinite(largest)) return 1;
  return std::ldexp(1.0, std::ilogb(largest));
}

size_t RoundUp(size_t x, size_t multiple) { return (x + multiple - 1) / multiple * multiple; }

// Return what was stored.
double Put(double x, double* to) { return *to = x; }
double Put(double x, float* to) { return *to = static_cast<float>(x); }
double Put(double x, Bf16* to) {
  *to = ToBf16(static_cast<float>(x));
  return ToFloat(*to);
}

// The parts of an image, each at a multiple of 256 bytes.
struct ImageShape {
  ImageShape(size_t tokens, size_t key_dimension, size_t value_dimension, Kernel kernel)
      : traits(TraitsOf(kernel)),
        padded_tokens(RoundUp(tokens, traits.token_padding)),
        padded_key(RoundUp(key_dimension, traits.key_padding)),
        padded_value(RoundUp(value_dimension, traits.value_padding)),
        bias(RoundUp(padded_tokens * padded_key * traits.element_bytes, kAlignment)),
        values(bias + RoundUp(padded_tokens * traits.accumulator_bytes, kAlignment)),
        value_centre(values + RoundUp(padded_tokens * padded_value * traits.element_bytes, kAlignment)),
        bytes(value_centre + RoundUp(padded_value * traits.accumulator_bytes, kAlignment)) {}

  static constexpr size_t kAlignment = 256;
  KernelTraits traits;
  size_t padded_tokens;
  size_t padded_key;
  size_t padded_value;
  size_t bias;
  size_t values;
  size_t value_centre;
  size_t bytes;
};

template <typename T, typename A>
void Fill(const FastRows& rows, Kernel kernel, const ImageShape& shape, char* image) {
  auto* keys = reinterpret_cast<T*>(image);
  auto* bias = reinterpret_cast<A*>(image + shape.bias);
  auto* values = reinterpret_cast<T*>(image + shape.values);
  auto* centre = reinterpret_cast<A*>(image + shape.value_centre);
  constexpr size_t kTile = 128;  // of kFloat32
  const bool tiled = kernel == Kernel::kFloat32;
  for (size_t i = 0; i < rows.tokens; ++i) {
    const double* y = &rows.keys[i * rows.key_dimension];
    for (size_t k = 0; k < rows.key_dimension; ++k) {
      Put(y[k], tiled ? keys + (i / kTile * shape.padded_key + k) * kTile + i % kTile
                      : keys + i * shape.padded_key + k);
    }
    const double* u = &rows.values[i * rows.value_dimension];
    for (size_t k = 0; k < rows.value_dimension; ++k) {
      Put(u[k], tiled ? values + i * shape.padded_value + k : values + k * shape.padded_tokens + i);
    }
    Put(rows.bias[i], bias + i);
  }
  for (size_t i = rows.tokens; i < shape.padded_tokens; ++i) bias[i] = -std::numeric_limits<A>::infinity();
  for (size_t k = 0; k < rows.value_dimension; ++k) Put(rows.value_centre[k], centre + k);
}

}  // namespace

FastRows MakeFastRows(const SupportRows& support) {
  const size_t m = support.tokens;
  const size_t d = support.key_dimension;
  const size_t dv = support.value_dimension;
  FastRows fast;
  fast.tokens = m;
  fast.key_dimension = d;
  fast.value_dimension = dv;
  fast.key_centre = CentreOf(support.keys, m, d);
  fast.value_centre = CentreOf(support.values, m, dv);
  fast.keys.resize(m * d);
  fast.values.resize(m * dv);
  fast.bias.resize(m);
  const double gamma_log2e = support.gamma * kLog2E;
  double largest = 0;        // element of y and b
  double largest_value = 0;  // of v - e
  for (size_t i = 0; i < m; ++i) {
    double* y = &fast.keys[i * d];
    for (size_t k = 0; k < d; ++k) y[k] = support.keys[i * d + k] - fast.key_centre[k];
    fast.bias[i] = support.log_weights[i] * kLog2E - gamma_log2e * SquareSum(y, d);
    for (size_t k = 0; k < d; ++k) {
      y[k] *= 2 * gamma_log2e;
      Raise(y[k], &largest);
    }
    Raise(fast.bias[i], &largest);
    Raise(NormUpper(y, d), &fast.norms.key);
    Raise(fast.bias[i] * kOutward, &fast.norms.bias);
    double* u = &fast.values[i * dv];
    for (size_t k = 0; k < dv; ++k) {
      u[k] = support.values[i * dv + k] - fast.value_centre[k];
      Raise(u[k], &largest_value);
    }
    Raise(NormUpper(u, dv), &fast.norms.value);
  }
  fast.value_scale = ScaleOf(largest_value);
  for (double& u : fast.values) u /= fast.value_scale;
  double largest_centre = 0;
  for (const double e : fast.value_centre) Raise(e, &largest_centre);
  fast.fits_double = std::isfinite(2 * gamma_log2e) && std::isfinite(largest) &&
                     std::isfinite(fast.norms.key) && std::isfinite(fast.norms.bias) &&
                     std::isfinite(fast.norms.value);
  fast.fits_float = fast.fits_double && largest <= 0x1p120 && largest_value <= 0x1p120 &&
                    largest_centre <= 0x1p120 && fast.value_scale >= 0x1p-120;
  return fast;
}

KernelTraits TraitsOf(Kernel kernel) {
  switch (kernel) {
    case Kernel::kFloat64:
      return {.element_bytes = 8,
              .accumulator_bytes = 8,
              .token_padding = 32,
              .key_padding = 8,
              .value_padding = 8};
    case Kernel::kFloat32:
      return {.element_bytes = 4,
              .accumulator_bytes = 4,
              .token_padding = 128,
              .key_padding = 32,
              .value_padding = 4};
    case Kernel::kBfloat16:
    case Kernel::kBfloat16Hopper:
      break;
  }
  return {
      .element_bytes = 2, .accumulator_bytes = 4, .token_padding = 64, .key_padding = 64, .value_padding = 8};
}

SupportImage MakeSupportImage(const FastRows& rows, Kernel kernel) {
  const ImageShape shape(rows.tokens, rows.key_dimension, rows.value_dimension, kernel);
  SupportImage image;
  image.bias = shape.bias;
  image.values = shape.values;
  image.value_centre = shape.value_centre;
  image.bytes.assign(shape.bytes, 0);
  if (shape.traits.element_bytes == 8) {
    Fill<double, double>(rows, kernel, shape, image.bytes.data());
  } else if (shape.traits.element_bytes == 4) {
    Fill<float, float>(rows, kernel, shape, image.bytes.data());
  } else {
    Fill<Bf16, float>(rows, kernel, shape, image.bytes.data());
  }
  image.group.value_scale = rows.value_scale;
  image.group.tokens = static_cast<uint32_t>(rows.tokens);
  image.group.padded_tokens = static_cast<uint32_t>(shape.padded_tokens);
  image.group.padded_key_dimension = static_cast<uint32_t>(shape.padded_key);
  image.group.value_dimension = static_cast<uint32_t>(rows.value_dimension);
  image.group.padded_value_dimension = static_cast<uint32_t>(shape.padded_value);
  return image;
}

Group SupportImage::At(const void* base) const {
  const auto* begin = static_cast<const char*>(base);
  Group at = group;
  at.keys = begin;
  at.bias = begin + bias;
  at.values = begin + values;
  at.value_centre = begin + value_centre;
  return at;
}

size_t SupportImageBytes(size_t tokens, size_t key_dimension, size_t value_dimension, Kernel kernel) {
  return ImageShape(tokens, key_dimension, value_dimension, kernel).bytes;
}

template <typename T, typename Query>
double StoreQueryAs(const Query* query, const double* centre, size_t key_dimension,
                    size_t padded_key_dimension, T* to) {
  double squares = 0;
  for (size_t k = 0; k < key_dimension; ++k) {
    const double z = Put(static_cast<double>(query[k]) - centre[k], to + k);
    squares += z * z;
  }
  std::fill(to + key_dimension, to + padded_key_dimension, T{});
  return std::sqrt(squares);
}

template <typename Query>
double StoreQuery(const Query* query, const double* centre, size_t key_dimension, size_t padded_key_dimension,
                  Kernel kernel, void* to) {
  switch (TraitsOf(kernel).element_bytes) {
    case 8:
      return StoreQueryAs(query, centre, key_dimension, padded_key_dimension, static_cast<double*>(to));
    case 4:
      return StoreQueryAs(query, centre, key_dimension, padded_key_dimension, static_cast<float*>(to));
    default:
      return StoreQueryAs(query, centre, key_dimension, padded_key_dimension, static_cast<Bf16*>(to));
  }
}
template double StoreQuery(const float*, const double*, size_t, size_t, Kernel, void*);
template double StoreQuery(const double*, const double*, size_t, size_t, Kernel, void*);

}  // namespace expunge::attention::cuda
