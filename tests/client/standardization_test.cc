#include "client/cli/standardization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace expunge::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

client::Matrix Keys() { return {4, 2, {1, 7, 2, 7, 3, 7, 6, 7}}; }

Standardization Numbers() {
  auto numbers = ComputeStandardization({"x", "y"}, Keys());
  EXPECT_TRUE(numbers.ok()) << numbers.status();
  return *numbers;
}

TEST(StandardizationTest, IsMeanAndDeviationOfTheWholeSet) {
  const Standardization numbers = Numbers();
  EXPECT_EQ(numbers.rows, 4U);
  EXPECT_THAT(numbers.mean, ElementsAre(3.0, 7.0));
  // (4 + 1 + 0 + 9) / 4 = 3.5; a column that does not vary is divided by 1.
  EXPECT_THAT(numbers.deviation, ElementsAre(std::sqrt(3.5), 1.0));
}

TEST(StandardizationTest, MakesMeanZeroAndDeviationOne) {
  client::Matrix keys = Keys();
  ASSERT_TRUE(Standardize(Numbers(), &keys).ok());
  const auto again = ComputeStandardization({"x", "y"}, keys);
  ASSERT_TRUE(again.ok());
  EXPECT_NEAR(again->mean[0], 0, 1e-15);
  EXPECT_NEAR(again->deviation[0], 1, 1e-15);
  for (size_t row = 0; row < 4; ++row) EXPECT_EQ(keys.Row(row)[1], 0);
}

TEST(StandardizationTest, AColumnThatDoesNotVaryIsZeroWhateverTheRoundingOfItsMean) {
  // The sum of three times 0.1, divided by 3, is not 0.1.
  client::Matrix keys{3, 1, {0.1, 0.1, 0.1}};
  const auto numbers = ComputeStandardization({"same"}, keys);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_THAT(numbers->mean, ElementsAre(0.1));
  EXPECT_THAT(numbers->deviation, ElementsAre(1.0));
  ASSERT_TRUE(Standardize(*numbers, &keys).ok());
  EXPECT_THAT(keys.data, ElementsAre(0, 0, 0));
}

TEST(StandardizationTest, ReadsBackTheSameBits) {
  Standardization numbers = Numbers();
  numbers.mean[0] = std::nextafter(0.1, 1);
  numbers.deviation[1] = std::numeric_limits<double>::denorm_min();
  numbers.value_labels = {"d=a", "d=b"};
  numbers.one_hot_column = "d";
  numbers.categories = {"a", "b"};
  const auto read = StandardizationFromJson(ToJson(numbers));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->columns, numbers.columns);
  EXPECT_EQ(read->mean, numbers.mean);
  EXPECT_EQ(read->deviation, numbers.deviation);
  EXPECT_EQ(read->rows, numbers.rows);
  EXPECT_EQ(read->value_labels, numbers.value_labels);
  EXPECT_EQ(read->one_hot_column, numbers.one_hot_column);
  EXPECT_EQ(read->categories, numbers.categories);
}

TEST(StandardizationTest, RefusesEveryTruncation) {
  const std::string text = ToJson(Numbers());
  // The last byte is a line end.
  for (size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_FALSE(StandardizationFromJson(text.substr(0, size)).ok()) << size;
  }
}

TEST(StandardizationTest, RefusesNumbersThatContradictEachOther) {
  Standardization shorter = Numbers();
  shorter.mean.pop_back();
  EXPECT_FALSE(StandardizationFromJson(ToJson(shorter)).ok());
  Standardization zero = Numbers();
  zero.deviation[0] = 0;
  EXPECT_FALSE(StandardizationFromJson(ToJson(zero)).ok());
  Standardization nothing;
  EXPECT_FALSE(StandardizationFromJson(ToJson(nothing)).ok());
  EXPECT_FALSE(StandardizationFromJson("[]").ok());
  EXPECT_FALSE(StandardizationFromJson(R"({"format": "another"})").ok());
}

TEST(StandardizationTest, RefusesWhatOverflows) {
  const double huge = std::numeric_limits<double>::max();
  const auto numbers = ComputeStandardization({"big"}, {2, 1, {huge, -huge}});
  EXPECT_THAT(std::string(numbers.status().message()), HasSubstr("column 'big'"));
  client::Matrix keys{2, 2, {1, 2, huge, -huge}};
  Standardization tiny = Numbers();
  tiny.deviation[0] = 1e-300;
  EXPECT_THAT(std::string(Standardize(tiny, &keys).message()), HasSubstr("row 2"));
}

}  // namespace
}  // namespace expunge::cli
