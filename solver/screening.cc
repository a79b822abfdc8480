#include "solver/screening.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "solver/problem.h"

namespace expunge::solver {
namespace {

constexpr double kRoundoff = 0x1p-53;
// Covers the rounding of the bounds' own evaluation: sums of fewer than 2^22 terms, all of them >= 0.
constexpr double kOutward = 1 + 0x1p-30;
constexpr size_t kMaxTokens = size_t{1} << 22;
// Covers products that fall below the range of a double, for any number of terms in use.
constexpr double kUnderflow = 0x1p-900;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMaxWeight = 0x1p+100;

// g in doubles: each is within `error` of 2(Ha)_i - 1.
struct Gradient {
  std::vector<double> g;
  double error = 0;
  double weight_sum = 0;  // >= |a|_1
};

// The ends of 1/C as counts: floor and ceiling. REQUIRES: 1/C < 2^63.
struct Counts {
  size_t floor;
  size_t ceiling;
};

Gradient EvaluateGradient(const std::vector<double>& weights, Problem* problem) {
  const std::vector<uint32_t>& groups = problem->groups();
  std::vector<DoubleDouble> masses(problem->n());
  Gradient out;
  for (size_t i = 0; i < weights.size(); ++i) {
    masses[groups[i]] = masses[groups[i]] + weights[i];
    out.weight_sum += std::fabs(weights[i]);
  }
  out.weight_sum *= kOutward;
  std::vector<double> sums(problem->n(), 0.0);
  double terms = 0;
  for (uint32_t i = 0; i < masses.size(); ++i) {
    const double mass = masses[i].hi;
    if (mass == 0) continue;
    const double* row = problem->ApproxRow(i);
    for (size_t j = 0; j < sums.size(); ++j) sums[j] += mass * row[j];
    ++terms;
  }
  const double ridge = problem->ridge();
  for (size_t i = 0; i < weights.size(); ++i) out.g.push_back(2 * (sums[groups[i]] + ridge * weights[i]) - 1);
  // A kernel value is within approx_error() of K; a weight meets the rounding of its mass, a product, `terms`
  // additions, and the ridge; then comes the subtraction of 1.
  const double per_weight = problem->approx_error() + (terms + 8) * kRoundoff * (1 + ridge);
  out.error = (2 * out.weight_sum * per_weight + 2 * kRoundoff + kUnderflow) * kOutward;
  return out;
}

// >= the distance in the 1-norm from `weights` to the feasible set: to the box [0, low], low <= C_n, and from
// there to the mass 1.
double FeasibilityUpper(const std::vector<double>& weights, double low) {
  double outside = 0;
  DoubleDouble mass;
  for (const double a : weights) {
    const double clipped = std::clamp(a, 0.0, low);
    outside += std::fabs(a - clipped);
    mass = mass + clipped;
  }
  const double sum = mass.hi;
  const double rest = std::fabs((mass + -1.0).hi);
  return (outside + rest + 2 * kRoundoff * std::fabs(rest) +
          static_cast<double>(weights.size() + 4) * kDoubleDoubleError * (sum + 1)) *
         kOutward;
}

// <= min { g'b : b feasible }, by duality: t - C_n sum (t - g_i)^+ for any t. `high` >= C_n.
double MinimumLower(const Gradient& gradient, double t, double high) {
  DoubleDouble below;
  for (const double g : gradient.g) {
    if (g < t) below = below + TwoSum(t, -g);
  }
  // Rounded a few times; fewer than kMaxTokens additions in double-double do not show.
  const double drop = high * below.hi * (1 + 0x1p-49);
  return t - drop - gradient.error - 4 * kRoundoff * (std::fabs(t) + drop + gradient.error);
}

// >= g'a.
double ProductUpper(const Gradient& gradient, const std::vector<double>& weights) {
  DoubleDouble sum;
  double magnitude = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum = sum + TwoProd(gradient.g[i], weights[i]);
    magnitude += std::fabs(gradient.g[i] * weights[i]);
  }
  const double rounding =
      static_cast<double>(weights.size() + 4) * kDoubleDoubleError * magnitude + kUnderflow;
  return sum.hi +
         (2 * kRoundoff * std::fabs(sum.hi) + rounding + gradient.error * gradient.weight_sum) * kOutward;
}

Counts CountsOf(const Rational& box) {
  Integer floor;
  Integer ceiling;
  fmpz_fdiv_q(floor, box.denominator(), box.numerator());
  fmpz_cdiv_q(ceiling, box.denominator(), box.numerator());
  return {fmpz_get_ui(floor), fmpz_get_ui(ceiling)};
}

bool AreUsable(const MemoryState& state) {
  const std::vector<double>& weights = state.solution.weights;
  return weights.size() == state.tokens.size() && weights.size() < kMaxTokens &&
         std::all_of(weights.begin(), weights.end(), [](double a) { return std::fabs(a) <= kMaxWeight; });
}

}  // namespace

Screening ScreenTokens(const MemoryState& state) {
  const size_t n = state.tokens.size();
  Screening out;
  out.tokens.assign(n, Screened::kOpen);
  if (n == 0) return out;
  Problem problem(state.config, state.tokens);
  if (problem.single_point()) out.tokens.assign(n, Screened::kError);
  out.gap_upper = out.gradient_error = kInfinity;
  if (!AreUsable(state)) return out;

  const std::vector<double>& weights = state.solution.weights;
  const Gradient gradient = EvaluateGradient(weights, &problem);
  const double low = LowerBound(problem.box());
  const double high = std::nextafter(low, kInfinity);
  std::vector<double> sorted = gradient.g;
  std::sort(sorted.begin(), sorted.end());
  const Counts counts = CountsOf(problem.box());  // C_n >= 1/n: both are at most n
  const double p = sorted[counts.ceiling - 1];

  const double ridge = problem.ridge();
  const double product = ProductUpper(gradient, weights);
  const double minimum = MinimumLower(gradient, p, high);
  const double gap = (product - minimum) + 4 * kRoundoff * (std::fabs(product) + std::fabs(minimum)) +
                     (1 + 2 * ridge) * FeasibilityUpper(weights, low) * kOutward;
  out.gap_upper = std::max(gap, 0.0);
  const double radius = std::sqrt(2 * (1 + ridge) * out.gap_upper) * kOutward;
  out.gradient_error = (radius + gradient.error) * kOutward;  // of the g in doubles
  if (problem.single_point()) return out;
  const double reach = 2 * out.gradient_error * kOutward;
  const double q = sorted[counts.floor];  // n C > 1: floor(1/C) < n
  for (size_t i = 0; i < n; ++i) {
    if (gradient.g[i] - p > reach) out.tokens[i] = Screened::kReserve;
    if (q - gradient.g[i] > reach) out.tokens[i] = Screened::kError;
  }
  return out;
}

}  // namespace expunge::solver
