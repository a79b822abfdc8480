// The kernels' own code on the emulated device, against plain sums in long double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "attention/cuda/fast_rows.h"
#include "attention/cuda/launch.h"
#include "attention/cuda/portable.h"
#include "tests/attention/cuda/emulated_launch.h"

namespace expunge::attention::cuda {
namespace {

using testing::Schedule;

constexpr size_t kSharedBytes = size_t{227} << 10;

struct Memory {
  size_t tokens;
  size_t d;
  size_t dv;
  std::vector<double> keys, values, log_weights;
  double gamma;

  Memory(size_t token_count, size_t key_dimension, size_t value_dimension, uint32_t seed)
      : tokens(token_count), d(key_dimension), dv(value_dimension) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    gamma = 1.0 / static_cast<double>(d);
    for (size_t i = 0; i < tokens * d; ++i) keys.push_back(normal(random) + 3);
    for (size_t i = 0; i < tokens * dv; ++i) values.push_back(normal(random) * 5 - 2);
    for (size_t i = 0; i < tokens; ++i) log_weights.push_back(-std::fabs(normal(random)) - 1);
  }
  [[nodiscard]] FastRows Fast() const {
    return MakeFastRows({tokens, d, dv, keys.data(), values.data(), log_weights.data(), gamma});
  }
};

struct Answer {
  std::vector<double> output;
  double log2_sum = 0;  // of sum a_i k(q, x_i)
};

Answer Reference(const Memory& memory, const double* query) {
  std::vector<long double> logits(memory.tokens);
  long double largest = -INFINITY;
  for (size_t i = 0; i < memory.tokens; ++i) {
    long double distance = 0;
    for (size_t k = 0; k < memory.d; ++k) {
      const long double difference = static_cast<long double>(query[k]) - memory.keys[i * memory.d + k];
      distance += difference * difference;
    }
    logits[i] = memory.log_weights[i] - memory.gamma * distance;
    largest = std::max(largest, logits[i]);
  }
  std::vector<long double> sums(memory.dv, 0);
  long double total = 0;
  for (size_t i = 0; i < memory.tokens; ++i) {
    const long double p = std::exp(logits[i] - largest);
    total += p;
    for (size_t k = 0; k < memory.dv; ++k) sums[k] += p * memory.values[i * memory.dv + k];
  }
  Answer answer;
  for (const long double sum : sums) answer.output.push_back(static_cast<double>(sum / total));
  answer.log2_sum = static_cast<double>((largest + std::log(total)) / std::log(2.0L));
  return answer;
}

// What the tests allow, relative to the spread of the values: a few roundings of each precision.
double Tolerance(Kernel kernel) {
  switch (kernel) {
    case Kernel::kFloat64:
      return 1e-12;
    case Kernel::kFloat32:
      return 2e-5;
    default:
      return 0.01;
  }
}

double ReadAs(const std::vector<char>& bytes, size_t index, Kernel kernel) {
  if (TraitsOf(kernel).accumulator_bytes == 8) return reinterpret_cast<const double*>(bytes.data())[index];
  return reinterpret_cast<const float*>(bytes.data())[index];
}

struct Task {
  Memory memory;
  size_t rows;
};

// Reads all tasks in one launch and compares every number.
void ExpectReadsRight(Kernel kernel, const std::vector<Task>& tasks, const Schedule& schedule) {
  const KernelTraits traits = TraitsOf(kernel);
  const size_t count = tasks.size();
  std::vector<SupportImage> images(count);
  std::vector<std::vector<double>> queries(count);
  std::vector<std::vector<char>> stored(count), outputs(count), sums(count);
  std::vector<std::vector<double>> norms(count);
  std::vector<Group> groups(count);
  uint32_t largest_key = 0, largest_value = 0, largest_rows = 0;
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (size_t t = 0; t < count; ++t) {
    const Memory& memory = tasks[t].memory;
    const FastRows fast = memory.Fast();
    images[t] = MakeSupportImage(fast, kernel);
    ASSERT_EQ(images[t].bytes.size(), SupportImageBytes(memory.tokens, memory.d, memory.dv, kernel));
    Group& group = groups[t] = images[t].At(images[t].bytes.data());
    group.rows = static_cast<uint32_t>(tasks[t].rows);
    stored[t].resize(tasks[t].rows * group.padded_key_dimension * traits.element_bytes);
    outputs[t].assign(tasks[t].rows * memory.dv * traits.accumulator_bytes, static_cast<char>(0xff));
    sums[t].assign(tasks[t].rows * 2 * traits.accumulator_bytes, static_cast<char>(0xff));
    for (size_t q = 0; q < tasks[t].rows; ++q) {
      for (size_t k = 0; k < memory.d; ++k) queries[t].push_back(normal(random) + 3);
      norms[t].push_back(StoreQuery(&queries[t][q * memory.d], fast.key_centre.data(), memory.d,
                                    group.padded_key_dimension, kernel,
                                    &stored[t][q * group.padded_key_dimension * traits.element_bytes]));
    }
    group.queries = stored[t].data();
    group.outputs = outputs[t].data();
    group.sums = sums[t].data();
    largest_key = std::max(largest_key, group.padded_key_dimension);
    largest_value = std::max(largest_value, group.value_dimension);
    largest_rows = std::max(largest_rows, group.rows);
  }
  const LaunchShape shape = ShapeFor(kernel, largest_key, largest_value, largest_rows, kSharedBytes);
  ASSERT_GT(shape.shared_bytes, 0U);
  std::vector<Tile> tiles;
  for (uint32_t t = 0; t < count; ++t) AddTiles(shape, groups[t], t, &tiles);
  ASSERT_TRUE(testing::EmulateLaunch(shape, groups.data(), tiles.data(), static_cast<uint32_t>(tiles.size()),
                                     schedule));
  for (size_t t = 0; t < count; ++t) {
    const Memory& memory = tasks[t].memory;
    for (size_t q = 0; q < tasks[t].rows; ++q) {
      const Answer expected = Reference(memory, &queries[t][q * memory.d]);
      for (size_t k = 0; k < memory.dv; ++k) {
        ASSERT_NEAR(ReadAs(outputs[t], q * memory.dv + k, kernel), expected.output[k], 20 * Tolerance(kernel))
            << "task " << t << ", query " << q << ", column " << k;
      }
      const double log2_sum = std::log2(ReadAs(sums[t], 2 * q, kernel)) + ReadAs(sums[t], 2 * q + 1, kernel) -
                              memory.gamma / std::log(2.0) * norms[t][q] * norms[t][q];
      ASSERT_NEAR(log2_sum, expected.log2_sum, 20 * Tolerance(kernel)) << "task " << t << ", query " << q;
    }
  }
}

std::vector<Schedule> Schedules() {
  using Order = Schedule::Order;
  std::vector<Schedule> schedules;
  for (const Order order : {Order::kAscending, Order::kDescending, Order::kShuffled, Order::kWarpByWarp}) {
    for (const bool late_copies : {true, false}) schedules.push_back({order, late_copies, 3});
  }
  return schedules;
}

class KernelTest : public ::testing::TestWithParam<Kernel> {};

TEST_P(KernelTest, ReadsRightUnderEverySchedule) {
  for (const Schedule& schedule : Schedules()) {
    ExpectReadsRight(GetParam(), {{Memory(141, 33, 37, 1), 21}, {Memory(70, 9, 5, 2), 79}}, schedule);
  }
}

TEST_P(KernelTest, ReadsRightAtOddSizes) {
  for (const size_t tokens : {1, 14, 17, 100, 257}) {
    ExpectReadsRight(GetParam(), {{Memory(tokens, 64, 64, 2), 65}}, {});
  }
  for (const size_t dimension : {1, 33, 100, 128}) {
    ExpectReadsRight(GetParam(), {{Memory(70, dimension, dimension, 3), 5}}, {});
  }
  for (const size_t rows : {1, 63, 64, 65, 130}) {
    ExpectReadsRight(GetParam(), {{Memory(40, 33, 20, 4), rows}}, {});
  }
}

TEST_P(KernelTest, ReadsRightWithDimensionsThatDiffer) {
  ExpectReadsRight(GetParam(), {{Memory(30, 3, 150, 5), 9}}, {});
  const size_t longest = GetParam() == Kernel::kBfloat16Hopper ? 128 : 200;
  ExpectReadsRight(GetParam(), {{Memory(30, longest, 5, 6), 9}}, {});
  // Keys of one panel and of two in one launch.
  ExpectReadsRight(GetParam(), {{Memory(130, 7, 5, 7), 5}, {Memory(20, 100, 70, 8), 66}}, {});
}

TEST_P(KernelTest, ReadsManyMemoriesInOneLaunch) {
  std::vector<Task> tasks;
  for (uint32_t t = 0; t < 12; ++t) {
    tasks.push_back({Memory(1 + 23 * t % 150, 1 + 17 * t % 70, 1 + 29 * t % 90, 10 + t), 1 + 31 * t % 70});
  }
  ExpectReadsRight(GetParam(), tasks, {});
}

INSTANTIATE_TEST_SUITE_P(All, KernelTest,
                         ::testing::Values(Kernel::kFloat64, Kernel::kFloat32, Kernel::kBfloat16,
                                           Kernel::kBfloat16Hopper),
                         [](const auto& parameter) {
                           switch (parameter.param) {
                             case Kernel::kFloat64:
                               return "Float64";
                             case Kernel::kFloat32:
                               return "Float32";
                             case Kernel::kBfloat16Hopper:
                               return "Bfloat16Hopper";
                             default:
                               return "Bfloat16";
                           }
                         });

// 2 gamma log2(e) is infinite, and a key may be where the centre is: infinity times zero.
TEST(MakeFastRowsTest, HasNoFormWhereTheScaleOfTheKeysIsInfinite) {
  for (const double gamma : {1e308, std::numeric_limits<double>::max()}) {
    Memory one(1, 3, 2, 1);
    one.keys = {1, 2, 3};
    Memory duplicates(2, 3, 2, 1);
    duplicates.keys = {1, 2, 3, 1, 2, 3};
    for (Memory* memory : {&one, &duplicates}) {
      memory->gamma = gamma;
      const FastRows rows = memory->Fast();
      EXPECT_FALSE(rows.Fit(Kernel::kFloat64));
      EXPECT_FALSE(rows.Fit(Kernel::kFloat32));
    }
  }
}

TEST(MakeFastRowsTest, HasAFormForDoublesAloneBeyondFloat) {
  Memory memory(4, 3, 2, 1);
  EXPECT_TRUE(memory.Fast().Fit(Kernel::kFloat32));
  memory.values[3] = 1e60;
  EXPECT_TRUE(memory.Fast().Fit(Kernel::kFloat64));
  EXPECT_FALSE(memory.Fast().Fit(Kernel::kFloat32));
  memory.values[3] = 1e300;  // its square is infinite: no bound
  EXPECT_FALSE(memory.Fast().Fit(Kernel::kFloat64));
}

TEST(StoreQueryTest, ReturnsTheNormOfWhatIsStored) {
  const std::vector<double> query = {1.00390625, -0.3};
  const std::vector<double> centre = {0, 0};
  std::vector<double> stored(2);
  EXPECT_EQ(StoreQuery(query.data(), centre.data(), 2, 2, Kernel::kFloat64, stored.data()),
            std::sqrt(1.00390625 * 1.00390625 + 0.3 * 0.3));
  const double x = -0.3F;
  EXPECT_EQ(StoreQuery(query.data(), centre.data(), 2, 2, Kernel::kFloat32, stored.data()),
            std::sqrt(1.00390625 * 1.00390625 + x * x));
  const double y = ToFloat(ToBf16(-0.3F));
  EXPECT_EQ(StoreQuery(query.data(), centre.data(), 2, 2, Kernel::kBfloat16, stored.data()),
            std::sqrt(1 + y * y));  // 1.00390625 is midway
}

TEST(ShapeForTest, RefusesKeysThatDoNotFit) {
  EXPECT_EQ(ShapeFor(Kernel::kBfloat16Hopper, 192, 64, 1, kSharedBytes).shared_bytes, 0U);
  EXPECT_GT(ShapeFor(Kernel::kBfloat16, 192, 64, 1, kSharedBytes).shared_bytes, 0U);
  for (const Kernel kernel : {Kernel::kFloat64, Kernel::kFloat32, Kernel::kBfloat16}) {
    EXPECT_EQ(ShapeFor(kernel, 4096, 64, 1, kSharedBytes).shared_bytes, 0U);
    const LaunchShape shape = ShapeFor(kernel, 128, 128, 1, size_t{99} << 10);  // of 8.6 and 8.9
    EXPECT_GT(shape.shared_bytes, 0U);
    EXPECT_LE(shape.shared_bytes, size_t{99} << 10);
  }
}

TEST(Exp2OfNegativeTest, HasTheErrorThatItStates) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> exponent(-1000, 0);
  std::uniform_real_distribution<double> small(-2, 0);
  double worst = 0;
  for (int i = 0; i < 400000; ++i) {
    const double x = i % 2 == 0 ? exponent(random) : small(random);
    const long double exact = exp2l(x);
    worst = std::max(worst, static_cast<double>(std::fabs(Exp2OfNegative(x) / exact - 1)));
  }
  EXPECT_LT(worst, 0x1p-51);
  EXPECT_EQ(Exp2OfNegative(0), 1);
  EXPECT_EQ(Exp2OfNegative(-1000), 0x1p-1000);
  EXPECT_EQ(Exp2OfNegative(-1e300), 0);
  EXPECT_EQ(Exp2OfNegative(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_TRUE(std::isnan(Exp2OfNegative(std::numeric_limits<double>::quiet_NaN())));
}

TEST(Bf16Test, RoundsToNearestEven) {
  EXPECT_EQ(ToBf16(1.0F).bits, 0x3f80);
  EXPECT_EQ(ToBf16(1.00390625F).bits, 0x3f80);  // midway, even below
  EXPECT_EQ(ToBf16(1.01171875F).bits, 0x3f82);  // midway, even above
  EXPECT_EQ(ToBf16(std::nextafter(1.00390625F, 2.0F)).bits, 0x3f81);
  EXPECT_EQ(ToBf16(-3.0F).bits, 0xc040);
  EXPECT_EQ(ToFloat(ToBf16(0x1.fep100F)), 0x1.fep100F);
  EXPECT_TRUE(std::isinf(ToFloat(ToBf16(std::numeric_limits<float>::max()))));
}

}  // namespace
}  // namespace expunge::attention::cuda
