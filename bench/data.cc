#include "bench/data.h"

#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_format.h"

namespace expunge::bench {
namespace {

constexpr uint64_t kSeed = 20120704;
constexpr int kClusters = 8;
constexpr double kClusterSpread = 0.2;
constexpr int64_t kOutlierPeriod = 100;
constexpr double kOutlierScale = 2;

}  // namespace

solver::Config MakeConfig(uint32_t key_dimension, uint32_t value_dimension, uint32_t min_support) {
  solver::Config config;
  config.key_dimension = key_dimension;
  config.value_dimension = value_dimension;
  config.gamma = 1.0 / key_dimension;
  config.box.min_support = min_support;
  return config;
}

solver::TokenList MakeTokens(const solver::Config& config, Shape shape, int64_t n) {
  std::mt19937_64 generator(kSeed);
  std::normal_distribution<double> normal;
  std::vector<double> centres(size_t{kClusters} * config.key_dimension);
  for (double& coordinate : centres) coordinate = normal(generator);
  std::uniform_int_distribution<size_t> choose(0, kClusters - 1);
  solver::TokenList tokens;
  for (int64_t i = 0; i < n; ++i) {
    auto token = std::make_shared<solver::Token>();
    token->id = absl::StrFormat("token-%08d", i);
    const size_t centre = choose(generator) * config.key_dimension;
    const bool outlier = i % kOutlierPeriod == kOutlierPeriod - 1;
    for (uint32_t k = 0; k < config.key_dimension; ++k) {
      const double z = normal(generator);
      const double clustered = outlier ? kOutlierScale * z : centres[centre + k] + kClusterSpread * z;
      token->key.push_back(shape == Shape::kGaussian ? z : clustered);
    }
    for (uint32_t k = 0; k < config.value_dimension; ++k) token->value.push_back(normal(generator));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::vector<double> MakeVectors(int64_t count, uint32_t dimension) {
  std::mt19937_64 generator(kSeed + 1);
  std::normal_distribution<double> normal;
  std::vector<double> vectors(static_cast<size_t>(count) * dimension);
  for (double& coordinate : vectors) coordinate = normal(generator);
  return vectors;
}

}  // namespace expunge::bench
