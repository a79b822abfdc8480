// Readouts of one query, by number of support tokens, beside what one would use without a support set: a
// plain softmax over all tokens, in doubles, by Eigen.
#include <benchmark/benchmark.h>

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "attention/cpu/cpu_engine.h"
#include "attention/support_set.h"
#include "bench/data.h"
#include "solver/memory_state.h"

namespace expunge::bench {
namespace {

constexpr uint32_t kDimension = 64;
constexpr int64_t kQueries = 256;

// A state with `support` margin tokens of equal weight: a readout does not depend on how a state came to be.
solver::MemoryState MakeState(int64_t support) {
  solver::MemoryState state;
  state.config = MakeConfig(kDimension, kDimension, 2);
  state.tokens = MakeTokens(state.config, Shape::kGaussian, support);
  state.solution.classes.assign(state.tokens.size(), solver::TokenClass::kMargin);
  state.solution.weights.assign(state.tokens.size(), 1.0 / static_cast<double>(support));
  state.solution.proof.eta = 0x1p-53;
  return state;
}

void Readout(benchmark::State& state) {
  const attention::SupportSet support(MakeState(state.range(0)));
  const bool with_contributions = state.range(1) != 0;
  const std::vector<double> queries = MakeVectors(kQueries, kDimension);
  size_t next = 0;
  while (state.KeepRunning()) {
    const absl::Span<const double> query(&queries[next * kDimension], kDimension);
    benchmark::DoNotOptimize(attention::ReadCertified(support, query, with_contributions));
    next = (next + 1) % kQueries;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(Readout)
    ->ArgNames({"support", "contributions"})
    ->ArgsProduct({{14, 100, 1000}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);

void FullSoftmax(benchmark::State& state) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const int64_t n = state.range(0);
  const std::vector<double> keys = MakeVectors(n, kDimension);
  const Eigen::Map<const Matrix> k(keys.data(), n, kDimension);
  const Eigen::VectorXd half_norms = 0.5 * k.rowwise().squaredNorm();
  const std::vector<double> queries = MakeVectors(kQueries, kDimension);
  const double scale = 2.0 / kDimension;
  size_t next = 0;
  while (state.KeepRunning()) {
    const Eigen::Map<const Eigen::VectorXd> q(&queries[next * kDimension], kDimension);
    Eigen::ArrayXd logits = scale * (k * q - half_norms).array();
    logits = (logits - logits.maxCoeff()).exp();
    const Eigen::VectorXd output = k.transpose() * (logits / logits.sum()).matrix();
    benchmark::DoNotOptimize(output.data());
    next = (next + 1) % kQueries;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(FullSoftmax)->ArgName("tokens")->Arg(1000)->Arg(10'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace expunge::bench

BENCHMARK_MAIN();
