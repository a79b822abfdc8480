// The canonical state from nothing: time of one cold solve by size, dimension, shape of the data and box
// bound. Counters: sizes of the partition, decisions beyond double-double, true ties.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "bench/data.h"
#include "solver/reference_solver.h"

namespace expunge::bench {
namespace {

void ColdSolve(benchmark::State& state) {
  const auto shape = static_cast<Shape>(state.range(2));
  const solver::Config config =
      MakeConfig(static_cast<uint32_t>(state.range(1)), 1, static_cast<uint32_t>(state.range(3)));
  const solver::TokenList tokens = MakeTokens(config, shape, state.range(0));
  solver::Solution solution;
  while (state.KeepRunning()) {
    auto solved = solver::SolveFromNothing(config, tokens);
    if (!solved.ok()) {
      state.SkipWithError(std::string(solved.status().message()).c_str());
      return;
    }
    solution = *std::move(solved);
  }
  const auto count = [&](solver::TokenClass wanted) {
    return static_cast<double>(std::count(solution.classes.begin(), solution.classes.end(), wanted));
  };
  state.SetLabel(shape == Shape::kGaussian ? "gaussian" : "clustered");
  state.counters["S"] = count(solver::TokenClass::kMargin);
  state.counters["E"] = count(solver::TokenClass::kError);
  state.counters["higher"] = static_cast<double>(solution.proof.higher_precision);
  state.counters["ties"] = static_cast<double>(solution.proof.ties);
}

// Once a size: a cold solve takes milliseconds to seconds, and all 36 have to fit into a minute.
BENCHMARK(ColdSolve)
    ->ArgNames({"n", "d", "shape", "min_support"})
    ->ArgsProduct({{100, 1000, 5000}, {30, 64}, {0, 1}, {3, 26, 101}})
    ->Unit(benchmark::kMillisecond)
    ->MinTime(0.05);

}  // namespace
}  // namespace expunge::bench

BENCHMARK_MAIN();
