// Certified readouts: bits.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "attention/cpu/cpu_engine.h"
#include "tests/attention/readout_problem.h"

namespace expunge::attention {
namespace {

uint64_t Bits(double x) { return std::bit_cast<uint64_t>(x); }

// Every number of the answer to `queries`, bit for bit.
void ExpectBitsOfTheOracle(const RandomProblem& problem, const std::vector<double>& queries,
                           const Readouts& answer) {
  const size_t d = problem.plain.d;
  const size_t dv = problem.plain.dv;
  const auto& outputs = std::get<SecretArray<double>>(answer.outputs);
  ASSERT_EQ(answer.precision, Precision::kCertified);
  ASSERT_EQ(outputs.size(), queries.size() / d * dv);
  const ReadoutShape shape{problem.support->size(), d, dv};
  for (size_t r = 0; r < queries.size() / d; ++r) {
    const testing::OracleReadout expected = testing::ReadPlainly(problem.plain, &queries[r * d]);
    for (size_t k = 0; k < dv; ++k) {
      ASSERT_EQ(Bits(outputs[r * dv + k]), Bits(expected.output[k])) << "row " << r << " element " << k;
    }
    ASSERT_EQ(Bits(answer.decision_values[r]), Bits(expected.decision_value)) << "row " << r;
    ASSERT_EQ(Bits(answer.error_bounds[r]),
              Bits(CertifiedErrorBound(problem.support->value_bounds(), shape, problem.plain.gamma,
                                       expected.logit_scale)))
        << "row " << r;
  }
}

void ExpectEqualBits(const ProblemShape& shape, size_t queries, double distance, ReadoutEngine* engine) {
  SCOPED_TRACE(::testing::Message() << "m " << shape.m << " d " << shape.d << " dv " << shape.dv << " Q "
                                    << queries << " distance " << distance);
  const RandomProblem problem = MakeProblem(shape, shape.m);
  const std::vector<double> rows = MakeQueries(shape, queries, distance, 7);
  const Readouts answer = ReadOne(engine, {problem.support, absl::MakeConstSpan(rows)});
  ExpectBitsOfTheOracle(problem, rows, answer);
}

TEST(CertifiedRowsTest, EveryVectorUnitGivesTheBitsOfThePlainLoopsForEveryCountOfTokens) {
  CpuEngine engine(1);
  ForEachVectorUnit([&] {
    for (size_t m = 1; m <= 40; ++m) ExpectEqualBits({m, 5, 3}, 3, 1, &engine);
    for (const size_t m : {255, 256, 257, 700, 2100}) ExpectEqualBits({m, 7, 9}, 33, 1, &engine);
    ExpectEqualBits({40'000, 2, 1}, 3, 1, &engine);  // one query at a time
  });
}

TEST(CertifiedRowsTest, EveryVectorUnitGivesTheBitsOfThePlainLoopsForEveryDimension) {
  CpuEngine engine(1);
  constexpr size_t kDimensions[] = {1, 3, 63, 64, 65, 200};
  ForEachVectorUnit([&] {
    for (const size_t d : kDimensions) {
      for (const size_t dv : kDimensions) ExpectEqualBits({19, d, dv}, 5, 1, &engine);
    }
  });
}

TEST(CertifiedRowsTest, EveryVectorUnitGivesTheBitsOfThePlainLoopsForEveryBatch) {
  CpuEngine engine(1);
  ForEachVectorUnit([&] {
    for (size_t queries = 0; queries <= 40; ++queries) ExpectEqualBits({21, 6, 17}, queries, 1, &engine);
  });
}

TEST(CertifiedRowsTest, EveryVectorUnitGivesTheBitsOfThePlainLoopsAtEveryScale) {
  CpuEngine engine(1);
  ForEachVectorUnit([&] {
    for (const double distance : {0.0, 10.0, 1e3, 1e8, 1e140})
      ExpectEqualBits({18, 4, 5}, 9, distance, &engine);
    for (const double scale : {1e-310, 1e-160, 1e100, 1e300}) {
      ExpectEqualBits({18, 4, 5, 1, scale}, 9, 1, &engine);
    }
    for (const double scale : {1e-150, 1e-30, 1e60, 1e140}) ExpectEqualBits({18, 4, 5, scale}, 9, 1, &engine);
  });
}

TEST(CertifiedRowsTest, AnyCountOfThreadsGivesTheSameBits) {
  for (const size_t threads : {1, 2, 5}) {
    CpuEngine engine(threads);
    SCOPED_TRACE(threads);
    for (const size_t queries : {1, 31, 200, 1025}) ExpectEqualBits({150, 24, 31}, queries, 1, &engine);
  }
}

TEST(CertifiedRowsTest, FloatQueriesAreReadAsTheDoublesThatTheyAre) {
  const ProblemShape shape{23, 9, 4};
  const RandomProblem problem = MakeProblem(shape, 3);
  const std::vector<double> rows = MakeQueries(shape, 37, 1, 7);
  const std::vector<float> narrow(rows.begin(), rows.end());
  CpuEngine engine(2);
  const Readouts answer = ReadOne(&engine, {problem.support, absl::MakeConstSpan(narrow)});
  ExpectBitsOfTheOracle(problem, {narrow.begin(), narrow.end()}, answer);
}

TEST(CertifiedRowsTest, OneQueryAloneGetsTheSameBitsAsInABatch) {
  const ProblemShape shape{77, 12, 10};
  const RandomProblem problem = MakeProblem(shape, 4);
  const std::vector<double> rows = MakeQueries(shape, 70, 2, 7);
  CpuEngine engine(2);
  const Readouts batch = ReadOne(&engine, {problem.support, absl::MakeConstSpan(rows)});
  for (size_t r = 0; r < 70; ++r) {
    const CertifiedReadout alone =
        ReadCertified(*problem.support, absl::MakeConstSpan(rows).subspan(r * 12, 12), false);
    for (size_t k = 0; k < 10; ++k) {
      ASSERT_EQ(Bits(alone.output[k]), Bits(std::get<SecretArray<double>>(batch.outputs)[r * 10 + k]));
    }
    ASSERT_EQ(Bits(alone.decision_value), Bits(batch.decision_values[r]));
    ASSERT_EQ(Bits(alone.error_bound), Bits(batch.error_bounds[r]));
  }
}

TEST(CertifiedRowsTest, ContributionsAreTheWeightsOfTheOracleInOrder) {
  const ProblemShape shape{45, 3, 2};
  const RandomProblem problem = MakeProblem(shape, 5);
  const std::vector<double> rows = MakeQueries(shape, 40, 1, 7);
  CpuEngine engine(2);
  for (const Precision precision : {Precision::kCertified, Precision::kFloat32}) {
    const Readouts answer = ReadOne(&engine, {problem.support, absl::MakeConstSpan(rows), precision, true});
    ExpectBitsOfTheOracle(problem, rows, answer);
    ASSERT_EQ(answer.contributions.size(), 40U);
    for (size_t r = 0; r < 40; ++r) {
      const testing::OracleReadout expected = testing::ReadPlainly(problem.plain, &rows[r * 3]);
      const std::vector<Contribution>& shares = answer.contributions[r];
      ASSERT_EQ(shares.size(), 45U);
      std::vector<bool> seen(45);
      for (size_t i = 0; i < shares.size(); ++i) {
        ASSERT_EQ(shares[i].token % 3, 1U);
        const size_t place = shares[i].token / 3;
        ASSERT_FALSE(seen.at(place));
        seen[place] = true;
        ASSERT_EQ(Bits(shares[i].weight), Bits(expected.weights[place]));
        if (i == 0) continue;
        ASSERT_GE(shares[i - 1].weight, shares[i].weight);
        if (shares[i - 1].weight == shares[i].weight) {
          ASSERT_LT(shares[i - 1].token, shares[i].token);
        }
      }
    }
  }
}

}  // namespace
}  // namespace expunge::attention
