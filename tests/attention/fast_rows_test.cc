// Fast readouts: their bounds, and when they give way to more exact ones.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "attention/cpu/cpu_engine.h"
#include "tests/attention/readout_problem.h"

namespace expunge::attention {
namespace {

constexpr Precision kFastPrecisions[] = {Precision::kFloat32, Precision::kFloat64};

double Distance(const double* a, const std::vector<double>& b) {
  double norm = 0;
  for (size_t k = 0; k < b.size(); ++k) norm = std::hypot(norm, a[k] - b[k]);
  return norm;
}

struct Comparison {
  size_t queries = 3;
  double distance = 1;
  double useful = std::numeric_limits<double>::infinity();  // no bound may be larger
};

// Every row within its bound of the plain loops, and the first one of the readout at 600 bits.
void ExpectWithinBounds(const ProblemShape& shape, const Comparison& comparison, Precision precision,
                        ReadoutEngine* engine) {
  SCOPED_TRACE(::testing::Message() << "m " << shape.m << " d " << shape.d << " dv " << shape.dv << " Q "
                                    << comparison.queries << " distance " << comparison.distance << " in "
                                    << NameOf(precision));
  const RandomProblem problem = MakeProblem(shape, shape.m);
  const std::vector<double> rows = MakeQueries(shape, comparison.queries, comparison.distance, 7);
  const Readouts answer = ReadOne(engine, {problem.support, absl::MakeConstSpan(rows), precision});
  ASSERT_EQ(answer.precision, precision);
  const std::vector<double> outputs = AsDoubles(answer.outputs);
  ASSERT_EQ(outputs.size(), comparison.queries * shape.dv);
  const ReadoutShape bound_shape{shape.m, shape.d, shape.dv};
  for (size_t r = 0; r < comparison.queries; ++r) {
    const double bound = answer.error_bounds[r];
    const testing::OracleReadout expected = testing::ReadPlainly(problem.plain, &rows[r * shape.d]);
    const double slack = CertifiedErrorBound(problem.support->value_bounds(), bound_shape,
                                             problem.plain.gamma, expected.logit_scale);
    ASSERT_LE(Distance(&outputs[r * shape.dv], expected.output), bound + slack) << "row " << r;
    ASSERT_LE(bound, comparison.useful) << "row " << r;
    const double roundoff = precision == Precision::kFloat32 ? 0x1p-24 : 0x1p-53;
    const double exponent = problem.plain.gamma * comparison.distance * comparison.distance *
                                shape.key_scale * shape.key_scale * static_cast<double>(8 * shape.d) +
                            64;
    ASSERT_NEAR(answer.decision_values[r], expected.decision_value,
                4 * static_cast<double>(shape.d + shape.m) * roundoff * exponent);
    if (r > 0) continue;
    const std::vector<double> first(outputs.begin(), outputs.begin() + static_cast<ptrdiff_t>(shape.dv));
    ASSERT_LE(testing::DistanceFromExactReadout(problem.plain, rows.data(), first), bound);
  }
}

void ExpectWithinBoundsOnEveryUnit(const ProblemShape& shape, const Comparison& comparison) {
  CpuEngine engine(1);
  ForEachVectorUnit([&] {
    for (const Precision precision : kFastPrecisions) {
      ExpectWithinBounds(shape, comparison, precision, &engine);
    }
  });
}

TEST(FastRowsTest, StayWithinTheirBoundsForEveryCountOfTokens) {
  for (size_t m = 1; m <= 40; ++m) ExpectWithinBoundsOnEveryUnit({m, 5, 3}, {});
  for (const size_t m : {255, 256, 257, 511, 512, 513, 1100}) {
    ExpectWithinBoundsOnEveryUnit({m, 7, 9}, {.queries = 9});
  }
}

TEST(FastRowsTest, StayWithinTheirBoundsForEveryDimension) {
  for (const size_t d : {1, 3, 63, 64, 65, 200}) {
    for (const size_t dv : {1, 3, 63, 64, 65, 200}) ExpectWithinBoundsOnEveryUnit({19, d, dv}, {});
  }
}

TEST(FastRowsTest, StayWithinTheirBoundsForEveryBatch) {
  for (size_t queries = 1; queries <= 40; ++queries) {
    ExpectWithinBoundsOnEveryUnit({21, 6, 17}, {.queries = queries});
  }
}

TEST(FastRowsTest, StayWithinTheirBoundsAtEveryScaleThatTheyCanHold) {
  for (const double distance : {0.0, 10.0, 1e3, 1e6}) {
    ExpectWithinBoundsOnEveryUnit({300, 4, 5}, {.queries = 9, .distance = distance});
  }
  for (const double scale : {1e-37, 1e-20, 1e20, 1e37}) {
    ExpectWithinBoundsOnEveryUnit({300, 4, 5, 1, scale}, {.queries = 9});
  }
  for (const double scale : {1e-12, 1e-3, 1e3, 1e12}) {
    ExpectWithinBoundsOnEveryUnit({300, 4, 5, scale}, {.queries = 9});
  }
  for (const double offset : {10.0, 1e4}) {
    ExpectWithinBoundsOnEveryUnit({300, 4, 5, 1, 1, offset}, {.queries = 9});
  }
}

// The later the heaviest token comes, the more often the running maximum rises.
TEST(FastRowsTest, ASteepSoftmaxOverManyBlocksStaysWithinItsBound) {
  for (const double gamma : {0.01, 1.0, 30.0}) {
    ExpectWithinBoundsOnEveryUnit({1500, 3, 4, 1, 1, 0, gamma}, {.queries = 20, .distance = 2});
  }
}

TEST(FastRowsTest, BoundsAreUsefulNearTheData) {
  CpuEngine engine(1);
  const ProblemShape shape{100, 64, 64};
  ExpectWithinBounds(shape, {.queries = 40, .useful = 2e-2}, Precision::kFloat32, &engine);
  ExpectWithinBounds(shape, {.queries = 40, .useful = 1e-10}, Precision::kFloat64, &engine);
}

TEST(FastRowsTest, QueriesOfEitherTypeAreRead) {
  const ProblemShape shape{23, 9, 4};
  const RandomProblem problem = MakeProblem(shape, 3);
  const std::vector<double> rows = MakeQueries(shape, 37, 1, 7);
  const std::vector<float> narrow(rows.begin(), rows.end());
  const std::vector<double> widened(narrow.begin(), narrow.end());
  CpuEngine engine(1);
  ForEachVectorUnit([&] {
    for (const Precision precision : kFastPrecisions) {
      const Readouts of_float = ReadOne(&engine, {problem.support, absl::MakeConstSpan(narrow), precision});
      const Readouts of_double = ReadOne(&engine, {problem.support, absl::MakeConstSpan(widened), precision});
      ASSERT_EQ(of_float.precision, precision);
      ASSERT_EQ(of_float.outputs.index(), precision == Precision::kFloat32 ? 0U : 1U);
      const std::vector<double> a = AsDoubles(of_float.outputs);
      const std::vector<double> b = AsDoubles(of_double.outputs);
      for (size_t i = 0; i < a.size(); ++i) {
        ASSERT_NEAR(a[i], b[i], of_float.error_bounds[i / 4] + of_double.error_bounds[i / 4]);
      }
    }
  });
}

TEST(FastRowsTest, Bfloat16IsReadInFloat) {
  const ProblemShape shape{23, 9, 4};
  const RandomProblem problem = MakeProblem(shape, 3);
  const std::vector<double> rows = MakeQueries(shape, 2, 1, 7);
  CpuEngine engine(1);
  const Readouts answer =
      ReadOne(&engine, {problem.support, absl::MakeConstSpan(rows), Precision::kBfloat16});
  EXPECT_EQ(answer.precision, Precision::kFloat32);
  EXPECT_EQ(answer.backend, Backend::kCpu);
}

// What was asked for, and what the answer must say.
struct GiveWay {
  const char* name;
  ProblemShape shape;
  double distance;
  Precision asked;
  Precision given;
};

class GiveWayTest : public ::testing::TestWithParam<GiveWay> {};

TEST_P(GiveWayTest, ReadsTheWholeTaskMoreExactly) {
  const GiveWay& c = GetParam();
  const RandomProblem problem = MakeProblem(c.shape, 3);
  std::vector<double> rows = MakeQueries(c.shape, 40, 1, 7);
  const std::vector<double> far = MakeQueries(c.shape, 1, c.distance, 8);
  std::copy(far.begin(), far.end(), rows.begin() + static_cast<ptrdiff_t>(17 * c.shape.d));
  CpuEngine engine(2);
  const Readouts answer = ReadOne(&engine, {problem.support, absl::MakeConstSpan(rows), c.asked});
  ASSERT_EQ(answer.precision, c.given);
  const std::vector<double> outputs = AsDoubles(answer.outputs);
  for (size_t r = 0; r < 40; ++r) {
    ASSERT_TRUE(std::isfinite(answer.error_bounds[r])) << r;
    const testing::OracleReadout expected = testing::ReadPlainly(problem.plain, &rows[r * c.shape.d]);
    const double slack =
        CertifiedErrorBound(problem.support->value_bounds(), {c.shape.m, c.shape.d, c.shape.dv},
                            problem.plain.gamma, expected.logit_scale);
    ASSERT_LE(Distance(&outputs[r * c.shape.dv], expected.output), answer.error_bounds[r] + slack) << r;
  }
}

constexpr GiveWay kGiveWays[] = {
    {"AFarQueryInFloat", {30, 4, 5}, 1e30, Precision::kFloat32, Precision::kCertified},
    {"AFarQueryInDouble", {30, 4, 5}, 1e30, Precision::kFloat64, Precision::kCertified},
    {"AQueryBeyondFloat", {30, 4, 5}, 1e60, Precision::kFloat32, Precision::kCertified},
    {"AVeryFarQuery", {30, 4, 5}, 1e140, Precision::kFloat64, Precision::kCertified},
    {"KeysBeyondFloat", {30, 4, 5, 1e60}, 1, Precision::kFloat32, Precision::kCertified},
    {"NearlyEqualKeysBelowFloat", {30, 4, 5, 1e-45}, 1, Precision::kFloat32, Precision::kCertified},
    {"ValuesBeyondFloat", {30, 4, 5, 1, 1e60}, 1, Precision::kFloat32, Precision::kFloat64},
    {"ValuesBelowFloat", {30, 4, 5, 1, 1e-60}, 1, Precision::kFloat32, Precision::kFloat64},
    {"HugeValues", {30, 4, 5, 1, 1e300}, 1, Precision::kFloat32, Precision::kFloat64},
    {"SubnormalValues", {30, 4, 5, 1, 1e-310}, 1, Precision::kFloat64, Precision::kCertified},
};
std::string GiveWayName(const ::testing::TestParamInfo<GiveWay>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Cases, GiveWayTest, ::testing::ValuesIn(kGiveWays), GiveWayName);

// |q - c|^2 is so large that its rounding is worth powers of two: the decision value is wrong, but in its
// range.
TEST(FastRowsTest, DecisionValuesStayInTheirRangeWhereKeysAreFarApart) {
  const ProblemShape shape{40, 64, 2, 1e4, 1, 0, 1.0};
  const RandomProblem problem = MakeProblem(shape, 3);
  std::vector<double> rows(problem.plain.keys.begin(), problem.plain.keys.begin() + 10 * 64);
  for (double& x : rows) x += 0.001;
  CpuEngine engine(1);
  const double offset = 1 - problem.support->rho();
  for (const Precision precision : kFastPrecisions) {
    const Readouts answer = ReadOne(&engine, {problem.support, absl::MakeConstSpan(rows), precision});
    ASSERT_EQ(answer.precision, precision);
    for (const double f : answer.decision_values) {
      EXPECT_GE(f, -offset);
      EXPECT_LE(f, 2 - offset);
    }
  }
}

// Equal values have no spread: the mean is exact but for its own rounding.
TEST(FastRowsTest, EqualValuesAreReadBack) {
  ProblemShape shape{50, 3, 2};
  shape.value_scale = 0;
  const RandomProblem problem = MakeProblem(shape, 3);
  const std::vector<double> rows = MakeQueries(shape, 5, 1, 7);
  CpuEngine engine(1);
  for (const Precision precision : kFastPrecisions) {
    const Readouts answer = ReadOne(&engine, {problem.support, absl::MakeConstSpan(rows), precision});
    for (const double x : AsDoubles(answer.outputs)) ASSERT_EQ(x, 0.0);
  }
}

TEST(CpuEngineTest, ManyTasksAtOnceGetTheirOwnAnswers) {
  std::vector<RandomProblem> problems;
  std::vector<std::vector<double>> queries;
  std::vector<ReadoutTask> tasks;
  constexpr Precision kPrecisions[] = {Precision::kCertified, Precision::kFloat64, Precision::kFloat32};
  for (size_t i = 0; i < 30; ++i) {
    const ProblemShape shape{1 + 37 * i % 90, 1 + i % 7, 1 + i % 5};
    problems.push_back(MakeProblem(shape, i));
    // Some of them must give way.
    queries.push_back(MakeQueries(shape, (i * i) % 70, i % 10 == 9 ? 1e100 : 1.0, i));
  }
  for (size_t i = 0; i < 30; ++i) {
    tasks.push_back({problems[i].support, absl::MakeConstSpan(queries[i]), kPrecisions[i % 3], i % 4 == 0});
  }
  CpuEngine engine(2);
  std::vector<Readouts> answers(30);
  for (int round = 0; round < 2; ++round) {  // the second one into answers that are in use
    engine.Read(tasks, absl::MakeSpan(answers));
    for (size_t i = 0; i < 30; ++i) {
      const Readouts alone = ReadOne(&engine, tasks[i]);
      ASSERT_EQ(answers[i].precision, alone.precision);
      ASSERT_EQ(AsDoubles(answers[i].outputs), AsDoubles(alone.outputs));
      ASSERT_EQ(answers[i].decision_values, alone.decision_values);
      ASSERT_EQ(answers[i].error_bounds, alone.error_bounds);
      ASSERT_EQ(answers[i].contributions.size(), alone.contributions.size());
    }
  }
}

TEST(CpuEngineTest, ManyThreadsAtOnceGetTheirOwnAnswers) {
  const ProblemShape shape{120, 40, 40};
  const RandomProblem problem = MakeProblem(shape, 3);
  CpuEngine engine(3);
  std::vector<std::vector<double>> queries;
  std::vector<ReadoutTask> tasks;
  for (size_t t = 0; t < 4; ++t) {
    queries.push_back(MakeQueries(shape, 300, 1, t));
    tasks.push_back({problem.support, {}, t % 2 == 0 ? Precision::kCertified : Precision::kFloat32, false});
  }
  for (size_t t = 0; t < 4; ++t) tasks[t].queries = absl::MakeConstSpan(queries[t]);
  std::vector<int> different(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      CpuEngine own(1);
      const Readouts expected = ReadOne(&own, tasks[t]);
      for (int repeat = 0; repeat < 20; ++repeat) {
        const Readouts actual = ReadOne(&engine, tasks[t]);
        different[t] += actual.outputs == expected.outputs ? 0 : 1;
        different[t] += actual.decision_values == expected.decision_values ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(different, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace expunge::attention
