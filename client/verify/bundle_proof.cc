#include "client/verify/bundle_proof.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/numbers.h"
#include "certificate/hex_double.h"
#include "solver/kernel.h"

namespace expunge::verify {
namespace {

using nlohmann::json;
using solver::TokenClass;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double BoundOf(const json& field) {
  return certificate::ParseHexDouble(field.get_ref<const std::string&>()).value_or(kInfinity);
}

uint64_t CountOf(const json& field) {
  uint64_t count = 0;
  return absl::SimpleAtoi(field.get_ref<const std::string&>(), &count) ? count : 0;
}

// |g_j| of token j, rounded up: g = 2 K a + 2 ridge a - 1 + rho at the stored weights, each within 2^-53 of
// itself, as is rho; the sum of the weights is 1, and no kernel value is above 1.
double GradientUpper(const solver::MemoryState& state, size_t j, const std::vector<size_t>& support,
                     const std::vector<double>& kernels) {
  const double ridge = state.config.ridge;
  long double g = static_cast<long double>(state.solution.rho) - 1;
  for (size_t i = 0; i < support.size(); ++i) {
    g += 2 * static_cast<long double>(state.solution.weights[support[i]]) * kernels[i];
  }
  g += 2 * static_cast<long double>(ridge) * state.solution.weights[j];
  const double error = (2 + 2 * ridge + std::abs(state.solution.rho)) * 0x1p-53 +
                       static_cast<double>(support.size() + 4) * (2 + ridge) * 0x1p-62;
  return static_cast<double>(std::abs(g)) * (1 + 0x1p-50) + 2 * error;
}

// C_n, to the nearest double or its neighbour. REQUIRES: a token.
double BoxOf(const solver::MemoryState& state) {
  const solver::BoxBound& box = state.config.box;
  const double c = box.min_support > 0 ? 2 / (2 * static_cast<double>(box.min_support) - 1) : box.value;
  return std::max(std::min(c, 1.0), 1 / static_cast<double>(state.tokens.size()));
}

}  // namespace

Margins MarginsOf(const solver::MemoryState& state) {
  const solver::Solution& solution = state.solution;
  Margins margins{kInfinity, kInfinity};
  std::vector<size_t> support;
  std::vector<const double*> keys;
  for (size_t i = 0; i < state.tokens.size(); ++i) {
    if (solution.classes[i] == TokenClass::kReserve) continue;
    support.push_back(i);
    keys.push_back(state.tokens[i]->key.data());
  }
  // No weight is there, or every weight is at its bound and no sign matters: infinite by definition.
  const auto& classes = solution.classes;
  if (std::all_of(classes.begin(), classes.end(), [](TokenClass c) { return c == TokenClass::kError; })) {
    return margins;
  }
  std::vector<double> kernels(support.size());
  const double largest = BoxOf(state);
  for (size_t j = 0; j < state.tokens.size(); ++j) {
    if (solution.classes[j] == TokenClass::kMargin) {
      const double weight = solution.weights[j];
      const double distance = std::min(weight, largest - weight) + largest * 0x1p-51;
      margins.weight_distance_upper = std::min(margins.weight_distance_upper, distance);
      continue;
    }
    solver::ExactKernels(state.tokens[j]->key.data(), keys.data(), keys.size(), state.config.key_dimension,
                         state.config.gamma, kernels.data());
    margins.margin_upper = std::min(margins.margin_upper, GradientUpper(state, j, support, kernels));
  }
  return margins;
}

std::optional<std::string> FalseBound(const json& proof, const solver::Solution& solution,
                                      const Margins& margins) {
  if (proof["strict"].get<bool>() && !solution.proof.strict) return "strict";
  if (CountOf(proof["ties"]) < solution.proof.ties) return "ties";
  if (BoundOf(proof["marginLower"]) > margins.margin_upper) return "marginLower";
  if (BoundOf(proof["weightDistanceLower"]) > margins.weight_distance_upper) return "weightDistanceLower";
  if (BoundOf(proof["dualityGapUpper"]) < solution.proof.duality_gap_upper) return "dualityGapUpper";
  if (BoundOf(proof["eigenvalueLower"]) > solution.proof.eigenvalue_lower) return "eigenvalueLower";
  if (BoundOf(proof["eta"]) < solution.proof.eta) return "eta";
  return std::nullopt;
}

}  // namespace expunge::verify
