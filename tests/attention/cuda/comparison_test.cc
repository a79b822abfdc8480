// The comparisons of the check on a device, on the emulated one: they pass for the kernels as they are, and
// fail for what they are to find.
#include "attention/cuda/check/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "tests/attention/cuda/host_device.h"

namespace expunge::attention::cuda::check {
namespace {

using testing::DeviceLog;
using ::testing::HasSubstr;
using testing::HostDevice;
using ::testing::IsEmpty;

class ComparisonTest : public ::testing::Test {
 protected:
  ~ComparisonTest() override { EXPECT_THAT(log_->violations(), IsEmpty()); }

  std::shared_ptr<DeviceLog> log_ = std::make_shared<DeviceLog>();
  HostDevice device_{log_, size_t{64} << 20};
};

constexpr Kernel kKernels[] = {Kernel::kFloat64, Kernel::kFloat32, Kernel::kBfloat16,
                               Kernel::kBfloat16Hopper};

TEST_F(ComparisonTest, PassesForTheKernelsAsTheyAre) {
  for (const Kernel kernel : kKernels) {
    const Comparison comparison =
        Compare(&device_, kernel, {{1, 1, 1, 1}, {17, 33, 64, 3}, {100, 64, 33, 20}}, 8);
    EXPECT_EQ(comparison.failure, "") << NameOf(kernel);
    EXPECT_EQ(comparison.compared, 12U);
    EXPECT_GT(comparison.error, 0);
    EXPECT_GT(comparison.bound_use, 0);
  }
}

TEST_F(ComparisonTest, PassesForQueriesInDoubleAndFarAway) {
  for (const Kernel kernel : kKernels) {
    for (const QueryKind kind : {QueryKind::kDoubles, QueryKind::kFar}) {
      const Comparison comparison = Compare(&device_, kernel, {{100, 64, 33, 20, kind}}, 8);
      EXPECT_EQ(comparison.failure, "") << NameOf(kernel);
      EXPECT_EQ(comparison.compared, 8U);
    }
  }
}

TEST_F(ComparisonTest, FindsAFarQueryBeyondItsBound) {
  log_->AfterLaunch([](const Group* groups) { static_cast<float*>(groups[0].outputs)[0] += 1000; });
  EXPECT_THAT(Compare(&device_, Kernel::kFloat32, {{40, 20, 32, 20, QueryKind::kFar}}, 5).failure,
              HasSubstr("beyond its proven bound"));
}

TEST_F(ComparisonTest, ComparesWhatTwoThreadsLaunchAtOnce) {
  for (const Kernel kernel : kKernels) EXPECT_EQ(CompareTogether(&device_, kernel, 2, 2), "");
  EXPECT_EQ(log_->calls(DeviceLog::Call::kLaunch), 4U * 2 * 2 * 2 * 2);
  log_->FailAt(5, DeviceError::kOutOfMemory, DeviceLog::Call::kLaunch);
  EXPECT_THAT(CompareTogether(&device_, Kernel::kFloat32, 2, 2), HasSubstr("injected"));
}

// No kernel rounds nowhere: what it is compared with would be its own result.
TEST_F(ComparisonTest, DoesNotPassWhereNothingDiffers) {
  const size_t tokens = 40;
  const size_t d = 20;
  const size_t dv = 32;
  const Memory memory = MakeMemory(tokens, d, dv, 1);
  Numbers numbers(1001);
  std::vector<double> queries(2 * d);
  for (double& x : queries) x = static_cast<double>(static_cast<float>(numbers.Normal() + 1));
  log_->AfterLaunch([&](const Group* groups) {
    for (size_t q = 0; q < 2; ++q) {
      const std::vector<double> exact = Exact(memory, &queries[q * d]);
      std::copy(exact.begin(), exact.end(), static_cast<double*>(groups[0].outputs) + q * dv);
    }
  });
  EXPECT_THAT(Compare(&device_, Kernel::kFloat64, {{tokens, d, dv, 2}}, 2).failure,
              HasSubstr("nothing was compared"));
}

TEST_F(ComparisonTest, MeasuresWhatAdditionsLose) {
  for (const Kernel kernel : kKernels) {
    const ArithmeticMeasurement measurement = MeasureArithmetic(&device_, kernel);
    EXPECT_EQ(measurement.failure, "") << NameOf(kernel);
    EXPECT_GT(measurement.total, kernel == Kernel::kFloat64 ? 0x1p-54 : 0x1p-26);
  }
}

TEST_F(ComparisonTest, FindsANumberThatIsSlightlyWrong) {
  log_->AfterLaunch(
      [](const Group* groups) { static_cast<float*>(groups[0].outputs)[32 * 19 + 31] += 2e-3F; });
  EXPECT_THAT(Compare(&device_, Kernel::kFloat32, {{40, 20, 32, 20}}, 5).failure,
              HasSubstr("twice the error"));
}

TEST_F(ComparisonTest, FindsARowThatWasNotWritten) {
  log_->AfterLaunch([](const Group* groups) {
    static_cast<float*>(groups[0].outputs)[32 * 7] = std::numeric_limits<float>::quiet_NaN();
  });
  EXPECT_THAT(Compare(&device_, Kernel::kFloat32, {{40, 20, 32, 20}}, 2).failure, HasSubstr("not written"));
}

TEST_F(ComparisonTest, FindsAWriteBesideTheOutputs) {
  log_->AfterLaunch([](const Group* groups) { static_cast<float*>(groups[0].outputs)[32 * 20] = 0; });
  EXPECT_THAT(Compare(&device_, Kernel::kFloat32, {{40, 20, 32, 20}}, 2).failure, HasSubstr("beside it"));
}

TEST_F(ComparisonTest, FindsAdditionsThatLoseMoreThanIsAssumed) {
  log_->AfterLaunch([](const Group* groups) { static_cast<float*>(groups[0].sums)[1] *= 1.01F; });
  EXPECT_THAT(MeasureArithmetic(&device_, Kernel::kBfloat16).failure, HasSubstr("lose more"));
}

TEST_F(ComparisonTest, FailsIfTheDeviceDoes) {
  log_->FailAt(1, DeviceError::kOutOfMemory, DeviceLog::Call::kLaunch);
  EXPECT_THAT(Compare(&device_, Kernel::kFloat32, {{40, 20, 32, 20}}, 2).failure, HasSubstr("injected"));
}

}  // namespace
}  // namespace expunge::attention::cuda::check
