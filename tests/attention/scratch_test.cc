// What a piece of work leaves behind in its thread.
#include <gtest/gtest.h>

#include <algorithm>

#include "attention/cpu/read_rows.h"
#include "tests/attention/readout_problem.h"

namespace expunge::attention::cpu {
namespace {

template <typename T>
bool AllZero(const SecretArray<T>& array) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(array.data());
  return std::all_of(bytes, bytes + array.size() * sizeof(T), [](unsigned char byte) { return byte == 0; });
}

template <typename T>
void ExpectAllZero(const FastScratch<T>& scratch) {
  EXPECT_TRUE(AllZero(scratch.centred));
  EXPECT_TRUE(AllZero(scratch.weights));
  EXPECT_TRUE(AllZero(scratch.sums));
  EXPECT_TRUE(AllZero(scratch.rows));
  EXPECT_TRUE(AllZero(scratch.decisions));
}

void ExpectAllZero(const ThreadScratch& scratch) {
  ExpectAllZero(scratch.fast_float);
  ExpectAllZero(scratch.fast_double);
  EXPECT_TRUE(AllZero(scratch.certified.queries));
  EXPECT_TRUE(AllZero(scratch.certified.weights));
  EXPECT_TRUE(AllZero(scratch.certified.sums));
}

// Reads as many rows as go at once, and then one.
void ReadAndLook(const ProblemShape& shape, const ReadoutTask& task, ThreadScratch* scratch) {
  SCOPED_TRACE(::testing::Message() << "m " << shape.m << " d " << shape.d << " dv " << shape.dv << " in "
                                    << NameOf(task.precision));
  Readouts answer;
  const Work work = {&task, &answer, PrecisionFor(task, task.precision)};
  ASSERT_EQ(work.precision, task.precision);
  PrepareAnswer(work);
  const size_t rows = std::min(QueriesOf(task), RowsAtOnce(work));
  ReadRows(work, 0, rows, scratch);
  ExpectAllZero(*scratch);
  ReadRows(work, rows - 1, 1, scratch);
  ExpectAllZero(*scratch);
  for (const double x : AsDoubles(answer.outputs)) {
    if (x != 0) return;
  }
  ADD_FAILURE() << "nothing was read";
}

TEST(ScratchTest, IsAllZerosAfterEveryPiece) {
  ThreadScratch scratch;
  ForEachVectorUnit([&] {
    for (const size_t m : {1, 14, 100, 256, 257, 700}) {
      for (const size_t dv : {1, 17, 64}) {
        const ProblemShape shape{m, dv + 3, dv, 1, 1, 2};
        const RandomProblem problem = MakeProblem(shape, m);
        const std::vector<double> rows = MakeQueries(shape, 29, 1, 7);
        const std::vector<float> narrow(rows.begin(), rows.end());
        for (const Precision precision : {Precision::kCertified, Precision::kFloat64, Precision::kFloat32}) {
          ReadAndLook(shape, {problem.support, absl::MakeConstSpan(rows), precision}, &scratch);
          ReadAndLook(shape, {problem.support, absl::MakeConstSpan(narrow), precision}, &scratch);
        }
      }
    }
  });
  EXPECT_FALSE(scratch.fast_float.centred.empty());
  EXPECT_FALSE(scratch.fast_double.sums.empty());
  EXPECT_FALSE(scratch.certified.queries.empty());
}

}  // namespace
}  // namespace expunge::attention::cpu
