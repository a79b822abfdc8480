// What a read leaves in memory that it frees.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/server/core/service_fixture.h"
#include "tests/support/watched_memory.h"

namespace expunge::core {
namespace {

using test_support::FreedBlocks;

constexpr float kSecret = 0.56789F;
constexpr uint32_t kRows = 40;

class ReadMemoryTest : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    Create("cells");
    Add(kMemory, MakePoints("a", 12));
    Create("nothing");
  }

  // Of secret queries, in float64 or float32.
  template <typename Number>
  static v1::ReadRequest Request(Number last = static_cast<Number>(kSecret),
                                 const std::string& memory = kMemory) {
    std::vector<Number> elements(kRows * kKeyDimension, static_cast<Number>(kSecret));
    elements.back() = last;
    v1::ReadRequest request;
    request.set_name(memory);
    v1::PackedVectors* packed = request.mutable_queries();
    packed->set_dtype(sizeof(Number) == sizeof(float) ? v1::DTYPE_FLOAT32 : v1::DTYPE_FLOAT64);
    packed->set_rows(kRows);
    packed->set_columns(kKeyDimension);
    packed->set_data(elements.data(), elements.size() * sizeof(Number));
    return request;
  }

  // Reads together; returns how many freed blocks had a secret in them.
  template <typename Number>
  size_t Left(const std::vector<v1::ReadRequest>& requests, size_t answered) {
    const FreedBlocks freed(static_cast<Number>(kSecret));
    const auto answers = service_->ReadGroup(requests);
    size_t ok = 0;
    for (const auto& answer : answers) ok += answer.ok() ? 1 : 0;
    EXPECT_EQ(ok, answered);
    return FreedBlocks::found();
  }
};

constexpr v1::ReadoutPrecision kPrecisions[] = {v1::READOUT_PRECISION_CERTIFIED,
                                                v1::READOUT_PRECISION_FLOAT64, v1::READOUT_PRECISION_FLOAT32};

TEST_F(ReadMemoryTest, QueriesAreWipedAfterTheyAreAnswered) {
  for (const v1::ReadoutPrecision precision : kPrecisions) {
    v1::ReadRequest wide = Request<double>();
    v1::ReadRequest narrow = Request<float>();
    wide.set_precision(precision);
    narrow.set_precision(precision);
    EXPECT_EQ(Left<double>({wide, narrow}, 2), 0U);
    EXPECT_EQ(Left<float>({wide, narrow}, 2), 0U);
  }
}

TEST_F(ReadMemoryTest, QueriesAreWipedIfTheyAreRefused) {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Left<double>({Request<double>(nan)}, 0), 0U);
  EXPECT_EQ(Left<float>({Request<float>(static_cast<float>(nan))}, 0), 0U);
  const std::string empty = "tenants/acme/memories/nothing";
  EXPECT_EQ(Left<double>({Request<double>(static_cast<double>(kSecret), empty)}, 0), 0U);
  EXPECT_EQ(Left<float>({Request<float>(kSecret, empty)}, 0), 0U);
}

// The requests themselves are not the read's to wipe: a copy of one is found.
TEST_F(ReadMemoryTest, TheWatchFindsACopyOfARequest) {
  const v1::ReadRequest request = Request<double>();
  auto copy = std::make_unique<v1::ReadRequest>(request);
  const FreedBlocks freed(static_cast<double>(kSecret));
  copy.reset();
  EXPECT_EQ(FreedBlocks::found(), 1U);
}

}  // namespace
}  // namespace expunge::core
