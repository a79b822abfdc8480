// What kernel code needs to be compiled by nvcc for a device, and by any C++ compiler for the host, where
// tests run the same code (tests/attention/cuda). Plain C++.
#ifndef EXPUNGE_ATTENTION_CUDA_PORTABLE_H_
#define EXPUNGE_ATTENTION_CUDA_PORTABLE_H_

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define EXPUNGE_HOST_DEVICE __host__ __device__ __forceinline__
#define EXPUNGE_KERNEL_CODE __device__ __forceinline__
#define EXPUNGE_UNROLL _Pragma("unroll")
#else
#define EXPUNGE_HOST_DEVICE inline
#define EXPUNGE_KERNEL_CODE inline
#define EXPUNGE_UNROLL
#endif

namespace expunge::attention::cuda {

// The upper half of a float: 8 significant bits.
struct Bf16 {
  uint16_t bits;
};

// 16 bytes: what one thread loads and stores at once.
struct alignas(16) Quad {
  uint32_t word[4];
};

template <typename To, typename From>
EXPUNGE_HOST_DEVICE To BitCast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

EXPUNGE_HOST_DEVICE float ToFloat(Bf16 x) { return BitCast<float>(static_cast<uint32_t>(x.bits) << 16); }

// To nearest, ties to even, as the conversion of the device does. REQUIRES: not NaN.
EXPUNGE_HOST_DEVICE Bf16 ToBf16(float x) {
  const auto bits = BitCast<uint32_t>(x);
  return {static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

// 2^x for x <= 0, relative error at most 2^-51; 0 below -1000 (and for -infinity), NaN for NaN.
//
// x = n + f with |f| <= 1/2, and 2^f by Taylor's polynomial of degree 13: what it leaves out is below 2^-57.
EXPUNGE_HOST_DEVICE double Exp2OfNegative(double x) {
  constexpr double kShift = 0x1.8p52;  // adding it rounds to an integer, which is then in the low bits
  if (x < -1000.0) return 0.0;
  const double shifted = x + kShift;
  const double f = x - (shifted - kShift);
  // ln(2)^k / k!
  double p = 0x1.816193166d0f9p-40;
  const auto step = [&p, f](double c) { p = p * f + c; };
  step(0x1.c3bd650fc2986p-36);
  step(0x1.e8cac7351bb25p-32);
  step(0x1.e4cf5158b8ecap-28);
  step(0x1.b5253d395e7c4p-24);
  step(0x1.62c0223a5c824p-20);
  step(0x1.ffcbfc588b0c7p-17);
  step(0x1.430912f86c787p-13);
  step(0x1.5d87fe78a6731p-10);
  step(0x1.3b2ab6fba4e77p-7);
  step(0x1.c6b08d704a0c0p-5);
  step(0x1.ebfbdff82c58fp-3);
  step(0x1.62e42fefa39efp-1);
  step(1.0);
  // p is in [0.7, 1.5] and n in [-1000, 0]: the exponent of the product is in the normal range.
  const auto n = static_cast<uint64_t>(BitCast<uint64_t>(shifted) << 52);
  return BitCast<double>(BitCast<uint64_t>(p) + n);
}

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_PORTABLE_H_
