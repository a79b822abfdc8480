#include "solver/cpu.h"

namespace expunge::solver {
namespace {

bool Detect() {
#if EXPUNGE_HAS_WIDE
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

bool& Wide() {
  static bool wide = Detect();
  return wide;
}

}  // namespace

bool WideVectors() { return Wide(); }

void SetWideVectorsForTest(bool wide) { Wide() = wide && Detect(); }

}  // namespace expunge::solver
