// The context of kernels for compute capability 9.0: asynchronous matrix products of a warpgroup (wgmma).
#ifndef EXPUNGE_ATTENTION_CUDA_HOPPER_CONTEXT_CUH_
#define EXPUNGE_ATTENTION_CUDA_HOPPER_CONTEXT_CUH_

#include "attention/cuda/context.cuh"

namespace expunge::attention::cuda {

struct HopperContext : DeviceContext {
  __device__ __forceinline__ uint32_t SharedAddress(const void* address) const {
    return static_cast<uint32_t>(__cvta_generic_to_shared(address));
  }
  // What this thread wrote to shared memory is there for the products of all, after the next barrier.
  __device__ __forceinline__ void FenceProducts() const { asm volatile("fence.proxy.async;" ::: "memory"); }
  // What this thread wrote to registers is there for its products.
  __device__ __forceinline__ void BeginProducts() const {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  }
  __device__ __forceinline__ void CommitProducts() const {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  // All of this thread's commits but the last kPending are complete.
  template <int kPending>
  __device__ __forceinline__ void WaitForProducts() const {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
  }
  // The compiler moves no use of these registers past this point: it does not know that products run on.
  template <int kBlocks>
  __device__ __forceinline__ void FenceRegisters(float (&c)[kBlocks][4]) const {
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      asm volatile("" : "+f"(c[b][0]), "+f"(c[b][1]), "+f"(c[b][2]), "+f"(c[b][3])::"memory");
    }
  }

  // What computes `x`, which is never negative, is done before what follows. Fences of registers bind the
  // compiler's first stage alone: its last one would move a wait up to the beginning of what was to go on
  // meanwhile.
  __device__ __forceinline__ void Finished(float x) const {
    asm volatile(
        "{ .reg .pred negative; setp.lt.f32 negative, %0, 0f00000000; @negative nanosleep.u32 0; }" ::"f"(x)
        : "memory");
  }

  // c += A B, A of 64 rows and B of 16 rows (the summed dimension contiguous in both): thread t of the
  // warpgroup has rows t / 32 * 16 + t % 32 / 4 and 8 below, columns 8 b + 2 (t % 4) and the next.
  __device__ __forceinline__ void MultiplyShared(float (&c)[8][4], uint64_t a, uint64_t b) const {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, %32, %33, 1, 1, 1, 0, 0;"
        : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]),
          "+f"(c[1][2]), "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]),
          "+f"(c[3][0]), "+f"(c[3][1]), "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]),
          "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]), "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]),
          "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]), "+f"(c[7][0]), "+f"(c[7][1]),
          "+f"(c[7][2]), "+f"(c[7][3])
        : "l"(a), "l"(b));
  }
  // The same, A from registers: columns 2 (t % 4), the next, and 8 on, of both rows.
  __device__ __forceinline__ void MultiplyRegisters(float (&c)[8][4], const uint32_t (&a)[4],
                                                    uint64_t b) const {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 0;"
        : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]),
          "+f"(c[1][2]), "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]),
          "+f"(c[3][0]), "+f"(c[3][1]), "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]),
          "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]), "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]),
          "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]), "+f"(c[7][0]), "+f"(c[7][1]),
          "+f"(c[7][2]), "+f"(c[7][3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
  __device__ __forceinline__ void MultiplyRegisters(float (&c)[16][4], const uint32_t (&a)[4],
                                                    uint64_t b) const {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 0;"
        : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]),
          "+f"(c[1][2]), "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]),
          "+f"(c[3][0]), "+f"(c[3][1]), "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]),
          "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]), "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]),
          "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]), "+f"(c[7][0]), "+f"(c[7][1]),
          "+f"(c[7][2]), "+f"(c[7][3]), "+f"(c[8][0]), "+f"(c[8][1]), "+f"(c[8][2]), "+f"(c[8][3]),
          "+f"(c[9][0]), "+f"(c[9][1]), "+f"(c[9][2]), "+f"(c[9][3]), "+f"(c[10][0]), "+f"(c[10][1]),
          "+f"(c[10][2]), "+f"(c[10][3]), "+f"(c[11][0]), "+f"(c[11][1]), "+f"(c[11][2]), "+f"(c[11][3]),
          "+f"(c[12][0]), "+f"(c[12][1]), "+f"(c[12][2]), "+f"(c[12][3]), "+f"(c[13][0]), "+f"(c[13][1]),
          "+f"(c[13][2]), "+f"(c[13][3]), "+f"(c[14][0]), "+f"(c[14][1]), "+f"(c[14][2]), "+f"(c[14][3]),
          "+f"(c[15][0]), "+f"(c[15][1]), "+f"(c[15][2]), "+f"(c[15][3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
};

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_HOPPER_CONTEXT_CUH_
