// The bounds of fast readouts, against readouts that are computed here in plain loops as packed_support.h and
// docs/math/readout.md say, in each precision and with every operation perturbed as far as is allowed.
#include "attention/error_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace expunge::attention {
namespace {

constexpr double kLog2E = 1.4426950408889634;

// A support set and queries, of one scale and offset.
struct Case {
  size_t m = 1;
  size_t d = 1;
  size_t dv = 1;
  double gamma = 1;
  double key_offset = 0;
  double query_scale = 1;
  double value_offset = 0;
  double value_scale = 1;
};

// Rounds as an arithmetic of unit roundoff u does at worst: to the ends of what is allowed, at random or, if
// it leans, always to the same.
class Rounding {
 public:
  Rounding(double unit, uint32_t seed) : unit_(unit), random_(seed) {}
  void Lean(int direction) { direction_ = direction; }
  long double operator()(long double x) {
    const bool up = direction_ == 0 ? coin_(random_) != 0 : direction_ > 0;
    return x * (1 + (up == (x > 0) ? unit_ : -unit_));
  }

 private:
  long double unit_;
  int direction_ = 0;
  std::mt19937 random_;
  std::uniform_int_distribution<int> coin_{0, 1};
};

struct Support {
  Case shape;
  std::vector<double> weights;
  std::vector<double> keys;
  std::vector<double> values;
  std::vector<float> key_centre;
  std::vector<float> value_centre;
  ValueBounds value_bounds;
  FastNorms norms;
};

double Norm(const std::vector<long double>& x) {
  long double squares = 0;
  for (const long double e : x) squares += e * e;
  return static_cast<double>(std::sqrt(squares)) * (1 + 0x1p-40);
}

Support Make(const Case& shape, uint32_t seed) {
  Support s;
  s.shape = shape;
  std::mt19937 random(seed);
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> uniform(0.001, 1);
  double total = 0;
  for (size_t i = 0; i < shape.m; ++i) total += s.weights.emplace_back(uniform(random));
  for (double& a : s.weights) a /= total;
  for (size_t i = 0; i < shape.m * shape.d; ++i) s.keys.push_back(gauss(random) + shape.key_offset);
  for (size_t i = 0; i < shape.m * shape.dv; ++i) {
    s.values.push_back((gauss(random) + shape.value_offset) * shape.value_scale);
  }
  for (size_t k = 0; k < shape.d; ++k) s.key_centre.push_back(static_cast<float>(shape.key_offset + 0.01));
  for (size_t k = 0; k < shape.dv; ++k) {
    s.value_centre.push_back(static_cast<float>(shape.value_offset * shape.value_scale));
  }
  for (size_t i = 0; i < shape.m; ++i) {
    std::vector<long double> y;
    std::vector<long double> v;
    std::vector<long double> u;
    for (size_t k = 0; k < shape.d; ++k) {
      y.push_back(2 * shape.gamma * kLog2E * (s.keys[i * shape.d + k] - s.key_centre[k]));
    }
    for (size_t k = 0; k < shape.dv; ++k) {
      v.push_back(s.values[i * shape.dv + k]);
      u.push_back(v.back() - s.value_centre[k]);
    }
    for (size_t j = 0; j < i; ++j) {
      std::vector<long double> between;
      for (size_t k = 0; k < shape.dv; ++k) between.push_back(v[k] - s.values[j * shape.dv + k]);
      s.value_bounds.spread = std::max(s.value_bounds.spread, Norm(between));
    }
    const double squared = std::pow(Norm(y) / (2 * shape.gamma * kLog2E), 2);
    s.norms.key = std::max(s.norms.key, Norm(y));
    s.norms.bias = std::max(s.norms.bias, -std::log2(s.weights[i]) + shape.gamma * kLog2E * squared + 1e-9);
    s.norms.value = std::max(s.norms.value, Norm(u));
    s.value_bounds.norm = std::max(s.value_bounds.norm, Norm(v));
  }
  return s;
}

std::vector<long double> Exact(const Support& s, const std::vector<double>& query) {
  const auto& [m, d, dv, gamma, key_offset, query_scale, value_offset, value_scale] = s.shape;
  std::vector<long double> logits(m);
  for (size_t i = 0; i < m; ++i) {
    long double distance = 0;
    for (size_t k = 0; k < d; ++k) {
      const long double difference = static_cast<long double>(query[k]) - s.keys[i * d + k];
      distance += difference * difference;
    }
    logits[i] = std::log(static_cast<long double>(s.weights[i])) - gamma * distance;
  }
  const long double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<long double> output(dv);
  long double total = 0;
  for (size_t i = 0; i < m; ++i) {
    const long double p = std::exp(logits[i] - largest);
    total += p;
    for (size_t k = 0; k < dv; ++k) output[k] += p * s.values[i * dv + k];
  }
  for (long double& o : output) o /= total;
  return output;
}

constexpr size_t kBlock = 16;

// As an implementation with `arithmetic` may compute it, in blocks of kBlock tokens. Sets `*query_norm`. An
// odd `seed`: what concerns even tokens is rounded up, of odd ones down.
std::vector<long double> Fast(const Support& s, const std::vector<double>& query,
                              const FastArithmetic& arithmetic, uint32_t seed, double* query_norm) {
  const auto& [m, d, dv, gamma, key_offset, query_scale, value_offset, value_scale] = s.shape;
  Rounding stored(arithmetic.storage, seed);
  Rounding rounded(arithmetic.arithmetic, seed + 1);
  Rounding weight(arithmetic.weight_storage, seed + 2);
  Rounding power(arithmetic.exp2, seed + 3);
  std::vector<long double> z(d);
  long double squares = 0;
  for (size_t k = 0; k < d; ++k) {
    z[k] = stored(rounded(static_cast<long double>(query[k]) - s.key_centre[k]));
    squares = rounded(squares + rounded(z[k] * z[k]));
  }
  *query_norm = static_cast<double>(rounded(std::sqrt(squares)));
  std::vector<long double> sums(dv);
  long double total = 0;
  long double largest = -std::numeric_limits<long double>::infinity();
  for (size_t begin = 0; begin < m; begin += kBlock) {
    const size_t end = std::min(m, begin + kBlock);
    std::vector<long double> exponents;
    const auto lean = [&](size_t i) {
      const int direction = seed % 2 == 0 ? 0 : i % 2 == 0 ? 1 : -1;
      for (Rounding* rounding : {&stored, &rounded, &weight, &power}) rounding->Lean(direction);
    };
    for (size_t i = begin; i < end; ++i) {
      lean(i);
      long double squared = 0;
      long double dot = 0;
      for (size_t k = 0; k < d; ++k) {
        const long double x = static_cast<long double>(s.keys[i * d + k]) - s.key_centre[k];
        squared += x * x;
        dot = rounded(dot + rounded(z[k] * stored(2 * gamma * kLog2E * x)));
      }
      const long double bias = std::log2(static_cast<long double>(s.weights[i])) -
                               gamma * static_cast<long double>(kLog2E) * squared;
      exponents.push_back(rounded(rounded(bias) + dot));
    }
    const long double next = std::max(largest, *std::max_element(exponents.begin(), exponents.end()));
    const long double factor = begin == 0 ? 0 : power(std::exp2(rounded(largest - next)));
    total = rounded(total * factor);
    for (long double& x : sums) x = rounded(x * factor);
    largest = next;
    for (size_t i = begin; i < end; ++i) {
      lean(i);
      const long double below = rounded(exponents[i - begin] - largest);
      const long double p = below < -arithmetic.range ? 0 : power(std::exp2(below));
      total = rounded(total + p);
      const long double p_stored = weight(p);
      for (size_t k = 0; k < dv; ++k) {
        const long double u = stored(static_cast<long double>(s.values[i * dv + k]) - s.value_centre[k]);
        sums[k] = rounded(sums[k] + rounded(p_stored * u));
      }
    }
  }
  for (size_t k = 0; k < dv; ++k) sums[k] = rounded(s.value_centre[k] + rounded(sums[k] / total));
  return sums;
}

FastArithmetic Float32(const Case& shape) {
  FastArithmetic a;
  a.storage = 0x1p-24;
  a.arithmetic = 0x1p-24;
  a.exp2 = 0x1p-22;
  a.range = 126;
  const size_t blocks = (shape.m + kBlock - 1) / kBlock;
  a.rescalings = static_cast<double>(blocks);
  a.key_depth = static_cast<double>(shape.d + 1);
  a.value_depth = static_cast<double>(shape.m);
  return a;
}

FastArithmetic Bfloat16(const Case& shape) {
  FastArithmetic a = Float32(shape);
  a.storage = 0x1p-8;
  a.weight_storage = 0x1p-8;
  a.arithmetic = 0x1p-22;
  return a;
}

// long double has 11 bits more than double: enough to be its judge where the bound allows more than some
// units.
FastArithmetic Float64(const Case& shape) {
  FastArithmetic a = Float32(shape);
  a.storage = 0x1p-53;
  a.arithmetic = 0x1p-53;
  a.exp2 = 0x1p-49;
  a.range = 1022;
  return a;
}

using MakeArithmetic = FastArithmetic (*)(const Case&);

class FastErrorBoundTest : public ::testing::TestWithParam<MakeArithmetic> {};

TEST_P(FastErrorBoundTest, HoldsForEveryPerturbationWithinTheArithmetic) {
  uint32_t seed = 7;
  double closest = 0;
  for (const size_t m : {1, 2, 14, 100}) {
    for (const size_t d : {1, 8, 64}) {
      for (const double gamma : {0.01, 0.5 / static_cast<double>(d), 4.0}) {
        for (const double key_offset : {0.0, 100.0}) {
          for (const double query_scale : {0.0, 1.0, 30.0}) {
            for (const double value_offset : {0.0, 1000.0}) {
              const Case shape{m, d, 5, gamma, key_offset, query_scale, value_offset, 1e-3};
              const Support s = Make(shape, ++seed);
              std::mt19937 random(seed);
              std::normal_distribution<double> gauss;
              std::vector<double> query;
              for (size_t k = 0; k < d; ++k) query.push_back(key_offset + query_scale * gauss(random));
              const FastArithmetic arithmetic = GetParam()(shape);
              const FastErrorBound bound(arithmetic, s.norms, s.value_bounds, {m, d, 5});
              const std::vector<long double> exact = Exact(s, query);
              for (const uint32_t variant : {2 * seed, 2 * seed + 1}) {
                double query_norm = 0;
                std::vector<long double> error = Fast(s, query, arithmetic, variant, &query_norm);
                for (size_t k = 0; k < error.size(); ++k) error[k] -= exact[k];
                closest = std::max(closest, Norm(error) / bound.At(query_norm));
                ASSERT_LE(Norm(error), bound.At(query_norm))
                    << "m " << m << " d " << d << " gamma " << gamma << " offset " << key_offset << " scale "
                    << query_scale << " values " << value_offset;
              }
            }
          }
        }
      }
    }
  }
  // The worst that was met is not far from what the bound allows.
  EXPECT_GT(closest, 0.05);
}

std::string PrecisionName(const ::testing::TestParamInfo<MakeArithmetic>& info) {
  if (info.param == &Float64) return "Float64";
  return info.param == &Float32 ? "Float32" : "Bfloat16";
}
INSTANTIATE_TEST_SUITE_P(Precisions, FastErrorBoundTest, ::testing::Values(&Float64, &Float32, &Bfloat16),
                         PrecisionName);

double BoundNearTheData(MakeArithmetic make) {
  const Case shape{100, 64, 64, 1.0 / 64, 0, 1, 0, 1};
  const Support s = Make(shape, 1);
  return FastErrorBound(make(shape), s.norms, s.value_bounds, {100, 64, 64}).At(8) / s.value_bounds.spread;
}

TEST(FastErrorBoundLimitsTest, IsUsefulNearTheData) {
  EXPECT_LT(BoundNearTheData(&Float64), 1e-12);
  EXPECT_LT(BoundNearTheData(&Float32), 2e-4);
  EXPECT_LT(BoundNearTheData(&Bfloat16), 0.2);
}

TEST(FastErrorBoundLimitsTest, IsAtMostTheSpreadAndTheSumsWhereTheQueryIsFar) {
  const Case shape{100, 64, 64, 1.0 / 64, 0, 1, 0, 1};
  const Support s = Make(shape, 1);
  const FastErrorBound bound(Float32(shape), s.norms, s.value_bounds, {100, 64, 64});
  EXPECT_GT(bound.At(1e9), s.value_bounds.spread);
  EXPECT_LT(bound.At(1e9), s.value_bounds.spread * 1.001);
}

TEST(FastErrorBoundLimitsTest, IsInfiniteWhereNothingIsKnown) {
  const Case shape{100, 64, 64, 1.0 / 64, 0, 1, 0, 1};
  const Support s = Make(shape, 1);
  const FastErrorBound bound(Float32(shape), s.norms, s.value_bounds, {100, 64, 64});
  EXPECT_EQ(bound.At(1e20), HUGE_VAL);
  EXPECT_EQ(bound.At(HUGE_VAL), HUGE_VAL);
  EXPECT_EQ(bound.At(std::nan("")), HUGE_VAL);
  EXPECT_EQ(FastErrorBound().At(0), HUGE_VAL);
  ValueBounds unproven = s.value_bounds;
  unproven.eta = HUGE_VAL;
  EXPECT_EQ(FastErrorBound(Float32(shape), s.norms, unproven, {100, 64, 64}).At(0), HUGE_VAL);
  FastNorms overflowing = s.norms;
  overflowing.key = 0x1p61;
  EXPECT_EQ(FastErrorBound(Float32(shape), overflowing, s.value_bounds, {100, 64, 64}).At(0), HUGE_VAL);
}

TEST(FastErrorBoundLimitsTest, CoversTheErrorOfTheWeights) {
  const Case shape{100, 64, 64, 1.0 / 64, 0, 1, 0, 1};
  Support s = Make(shape, 1);
  const double before = FastErrorBound(Float64(shape), s.norms, s.value_bounds, {100, 64, 64}).At(8);
  s.value_bounds.eta = 1e-3;
  const double after = FastErrorBound(Float64(shape), s.norms, s.value_bounds, {100, 64, 64}).At(8);
  EXPECT_GT(after - before, 2e-3 * s.value_bounds.spread);
}

}  // namespace
}  // namespace expunge::attention
