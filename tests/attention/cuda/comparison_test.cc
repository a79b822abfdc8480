// The comparisons of the check on a device, on the emulated one: they pass for the kernels as they are, and
// fail for what they are to find.
#include "attention/cuda/check/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>

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
