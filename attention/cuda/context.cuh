// How kernel code reaches the device: the thread's place, shared memory, barriers, copies, tensor cores.
// Tests have another one with the same members, which runs on the host (tests/attention/cuda/emulator.h).
#ifndef EXPUNGE_ATTENTION_CUDA_CONTEXT_CUH_
#define EXPUNGE_ATTENTION_CUDA_CONTEXT_CUH_

#include "attention/cuda/portable.h"

namespace expunge::attention::cuda {

// Aligned as the swizzle of Hopper's matrix instructions wants it.
extern __shared__ __align__(1024) Quad shared_memory[];

struct DeviceContext {
  __device__ __forceinline__ uint32_t Thread() const { return threadIdx.x; }
  __device__ __forceinline__ uint32_t Threads() const { return blockDim.x; }
  __device__ __forceinline__ char* Shared() const { return reinterpret_cast<char*>(shared_memory); }

  __device__ __forceinline__ void SyncBlock() const { __syncthreads(); }
  template <typename T>
  __device__ __forceinline__ T ShuffleXor(T x, int mask) const {
    return __shfl_xor_sync(0xffffffffU, x, mask);
  }

  // 16 bytes from global to shared memory, complete after WaitForCopies.
  __device__ __forceinline__ void CopyAsync(void* to, const void* from) const {
    const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
  }
  __device__ __forceinline__ void CommitCopies() const {
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  // All of this thread's commits but the last kPending are complete.
  template <int kPending>
  __device__ __forceinline__ void WaitForCopies() const {
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
  }

  __device__ __forceinline__ Quad Load(const void* from) const { return *static_cast<const Quad*>(from); }
  // Four floats, in one instruction.
  __device__ __forceinline__ void LoadFloats(float* to, const float* from) const {
    const float4 four = *reinterpret_cast<const float4*>(from);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
  }
  __device__ __forceinline__ void StoreFloats(float* to, float a, float b, float c, float d) const {
    *reinterpret_cast<float4*>(to) = make_float4(a, b, c, d);
  }
  __device__ __forceinline__ void Store(void* to, const Quad& quad) const { *static_cast<Quad*>(to) = quad; }

  // Relative error about 2^-22 by the PTX manual; results below 2^-126 are 0.
  __device__ __forceinline__ float Exp2(float x) const {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  __device__ __forceinline__ double Exp2(double x) const { return Exp2OfNegative(x); }

  // `low` in the lower half.
  __device__ __forceinline__ uint32_t PackBf16(float low, float high) const {
    uint32_t packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
  }

  // c += A B for 64 bytes of the summed dimension: rows lane/4 (low) and lane/4 + 8 (high) of A, column
  // lane/4 of B, columns 2 (lane % 4) and the next of c: c[0], c[1] of the low row, c[2], c[3] of the high
  // one.
  template <typename T, typename A>
  __device__ __forceinline__ void MultiplyAdd(A (&c)[4], const Quad& low, const Quad& high,
                                              const Quad& b) const {
    if constexpr (sizeof(T) == 8) {
      MultiplyAddDouble(c, Half(low, 0), Half(high, 0), Half(b, 0));
      MultiplyAddDouble(c, Half(low, 1), Half(high, 1), Half(b, 1));
    } else {
      MultiplyAddBf16(c, low.word[0], high.word[0], low.word[1], high.word[1], b.word[0], b.word[1]);
      MultiplyAddBf16(c, low.word[2], high.word[2], low.word[3], high.word[3], b.word[2], b.word[3]);
    }
  }

 private:
  static __device__ __forceinline__ double Half(const Quad& quad, int half) {
    return __hiloint2double(static_cast<int>(quad.word[2 * half + 1]), static_cast<int>(quad.word[2 * half]));
  }
  static __device__ __forceinline__ void MultiplyAddDouble(double (&c)[4], double a0, double a1, double b) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a0), "d"(a1), "d"(b));
#else
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a0), "d"(b));
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(c[2]), "+d"(c[3])
        : "d"(a1), "d"(b));
#endif
  }
  static __device__ __forceinline__ void MultiplyAddBf16(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                                         uint32_t a3, uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
};

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_CONTEXT_CUH_
