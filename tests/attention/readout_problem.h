// Random support sets and queries, and every vector unit of this processor.
#ifndef EXPUNGE_TESTS_ATTENTION_READOUT_PROBLEM_H_
#define EXPUNGE_TESTS_ATTENTION_READOUT_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "attention/engine.h"
#include "attention/support_set.h"
#include "tests/support/readout_oracle.h"

namespace expunge::attention {

struct ProblemShape {
  size_t m = 1;
  size_t d = 1;
  size_t dv = 1;
  double key_scale = 1;
  double value_scale = 1;
  double key_offset = 0;
  double gamma = 0;  // 0: 1 / (d key_scale^2)
};

struct RandomProblem {
  std::shared_ptr<const SupportSet> support;
  testing::ReadoutProblem plain;  // the same tokens, for the oracles
};

// Weights differ by factors up to 10^4; keys are Gaussian about key_offset.
[[nodiscard]] RandomProblem MakeProblem(const ProblemShape& shape, uint64_t seed);

// Rows about the keys, at `distance` times their spread from their middle.
[[nodiscard]] std::vector<double> MakeQueries(const ProblemShape& shape, size_t count, double distance,
                                              uint64_t seed);

// Calls `body` once for each vector unit that this processor has and that is compiled in.
void ForEachVectorUnit(const std::function<void()>& body);

// Reads one task.
[[nodiscard]] Readouts ReadOne(ReadoutEngine* engine, const ReadoutTask& task);

// The outputs as doubles, of either type.
[[nodiscard]] std::vector<double> AsDoubles(const OutputRows& outputs);

}  // namespace expunge::attention

#endif  // EXPUNGE_TESTS_ATTENTION_READOUT_PROBLEM_H_
