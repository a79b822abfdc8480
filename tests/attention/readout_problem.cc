#include "tests/attention/readout_problem.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cmath>
#include <random>

namespace expunge::attention {

RandomProblem MakeProblem(const ProblemShape& shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> exponent(-4, 0);
  RandomProblem problem;
  testing::ReadoutProblem& plain = problem.plain;
  plain.d = shape.d;
  plain.dv = shape.dv;
  plain.gamma =
      shape.gamma > 0 ? shape.gamma : 1 / (static_cast<double>(shape.d) * shape.key_scale * shape.key_scale);
  plain.rho = 0.25;
  std::vector<solver::Token> tokens(shape.m);
  std::vector<WeightedToken> weighted;
  for (solver::Token& token : tokens) {
    for (size_t k = 0; k < shape.d; ++k) {
      token.key.push_back((gauss(random) + shape.key_offset) * shape.key_scale);
    }
    for (size_t k = 0; k < shape.dv; ++k) token.value.push_back(gauss(random) * shape.value_scale);
    plain.keys.insert(plain.keys.end(), token.key.begin(), token.key.end());
    plain.values.insert(plain.values.end(), token.value.begin(), token.value.end());
    plain.weights.push_back(std::pow(10.0, exponent(random)) / static_cast<double>(shape.m));
    weighted.push_back({&token, static_cast<uint32_t>(3 * weighted.size() + 1), plain.weights.back()});
  }
  solver::Config config;
  config.key_dimension = static_cast<uint32_t>(shape.d);
  config.value_dimension = static_cast<uint32_t>(shape.dv);
  config.gamma = plain.gamma;
  problem.support = std::make_shared<const SupportSet>(config, weighted, plain.rho, 0x1p-53);
  const double* bias = problem.support->certified().bias;
  plain.log_weights.assign(bias, bias + shape.m);
  return problem;
}

std::vector<double> MakeQueries(const ProblemShape& shape, size_t count, double distance, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gauss;
  std::vector<double> queries;
  for (size_t i = 0; i < count * shape.d; ++i) {
    queries.push_back((gauss(random) * distance + shape.key_offset) * shape.key_scale);
  }
  return queries;
}

void ForEachVectorUnit(const std::function<void()>& body) {
  for (const int64_t unit : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(unit));
    hwy::SetSupportedTargetsForTest(unit);
    body();
    hwy::SetSupportedTargetsForTest(0);
  }
}

Readouts ReadOne(ReadoutEngine* engine, const ReadoutTask& task) {
  Readouts answer;
  engine->Read({&task, 1}, {&answer, 1});
  return answer;
}

std::vector<double> AsDoubles(const OutputRows& outputs) {
  return std::visit([](const auto& rows) { return std::vector<double>(rows.begin(), rows.end()); }, outputs);
}

}  // namespace expunge::attention
