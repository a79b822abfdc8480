#include "tests/support/data.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace expunge::testing {
namespace {

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), and approximately normal numbers without any library
// function.
class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // The sum of 12 uniform numbers, centred: mean 0, variance 1.
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(Next() >> 11) * 0x1p-53;
    return sum;
  }

 private:
  uint64_t state_;
};

double Element(DataKind kind, size_t i, size_t k, const std::vector<double>& centre, Generator* generator) {
  switch (kind) {
    case DataKind::kGaussian:
      return generator->Normal();
    case DataKind::kClustered:
      return centre[k] + 0.02 * generator->Normal();
    case DataKind::kDuplicates:
      return centre[k];
    case DataKind::kNearDuplicates:
      return centre[k] + 1e-8 * generator->Normal();
    case DataKind::kLattice:
      return static_cast<double>(generator->Next() % 3);
    case DataKind::kSymmetric: {
      if (i == 0) return 0;
      const size_t axis = (i - 1) / 2 % centre.size();
      const size_t layer = (i - 1) / (2 * centre.size());
      const double size = 1.0 + static_cast<double>(layer);
      return axis == k ? (i % 2 == 1 ? size : -size) : 0.0;
    }
    case DataKind::kOffset:
      return 1000 + generator->Normal();
    case DataKind::kFar:
      return generator->Normal() + (i == 0 ? 38.0 : i == 1 ? 1e5 : 0.0);
  }
  return 0;
}

}  // namespace

std::string Name(DataKind kind) {
  static constexpr const char* kNames[] = {"Gaussian", "Clustered", "Duplicates", "NearDuplicates",
                                           "Lattice",  "Symmetric", "Offset",     "Far"};
  return kNames[static_cast<size_t>(kind)];
}

solver::TokenList MakeTokens(DataKind kind, size_t n, size_t key_dimension, size_t value_dimension,
                             uint64_t seed) {
  Generator generator(seed);
  std::vector<std::vector<double>> centres(4, std::vector<double>(key_dimension));
  for (auto& centre : centres) {
    for (double& x : centre) x = 2 * generator.Normal();
  }
  solver::TokenList tokens;
  for (size_t i = 0; i < n; ++i) {
    auto token = std::make_shared<solver::Token>();
    token->id = absl::StrFormat("t%03d", i);
    for (size_t k = 0; k < key_dimension; ++k) {
      token->key.push_back(Element(kind, i, k, centres[i % 4], &generator));
    }
    for (size_t k = 0; k < value_dimension; ++k) token->value.push_back(generator.Normal());
    tokens.push_back(std::move(token));
  }
  return tokens;
}

solver::Config MakeConfig(size_t key_dimension, size_t value_dimension, solver::BoxBound box, double gamma,
                          double ridge) {
  solver::Config config;
  config.key_dimension = static_cast<uint32_t>(key_dimension);
  config.value_dimension = static_cast<uint32_t>(value_dimension);
  config.gamma = gamma;
  config.box = box;
  config.ridge = ridge;
  return config;
}

}  // namespace expunge::testing
