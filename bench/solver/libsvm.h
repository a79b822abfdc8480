// The refit that a user of libsvm would run after a deletion.
#ifndef EXPUNGE_BENCH_SOLVER_LIBSVM_H_
#define EXPUNGE_BENCH_SOLVER_LIBSVM_H_

#include <optional>

#include "bench/solver/measurement.h"
#include "solver/memory_state.h"

namespace expunge::bench {

// Whether this build has libsvm.
[[nodiscard]] bool HasLibsvm();

// Microseconds of svm_train for the one-class machine of the same problem: nu = 1/(n C), the same kernel,
// tolerance 1e-6, 500 MB of cache, shrinking; its nodes are built beforehand. It has no ridge, and kernel
// values in single precision: an approximation of what an exact memory holds. Nothing without libsvm.
[[nodiscard]] std::optional<double> TimeLibsvm(const solver::Config& config, double c,
                                               const solver::TokenList& tokens, Clock clock);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_SOLVER_LIBSVM_H_
