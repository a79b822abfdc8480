// Which vector unit the hot loops may use.
//
// A loop marked EXPUNGE_WIDE exists twice: once for every processor, once for AVX2 with FMA. Both perform the
// same operations on each element in the same order, without contraction, so they give the same bits.
#ifndef EXPUNGE_SOLVER_CPU_H_
#define EXPUNGE_SOLVER_CPU_H_

#if defined(__x86_64__) && defined(__GNUC__)
#define EXPUNGE_HAS_WIDE 1
#define EXPUNGE_WIDE __attribute__((target("avx2,fma")))
#else
#define EXPUNGE_HAS_WIDE 0
#define EXPUNGE_WIDE
#endif
#define EXPUNGE_INLINE inline __attribute__((always_inline))

namespace expunge::solver {

// True if this processor has AVX2 and FMA. Cost: a load.
[[nodiscard]] bool WideVectors();

// Tests compare both. Not while another thread solves.
void SetWideVectorsForTest(bool wide);

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_CPU_H_
