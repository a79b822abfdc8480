#include "client/cli/csv_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace expunge::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string MessageOf(absl::string_view text, const CsvFormat& format = {}) {
  const auto table = ParseCsv(text, format);
  return table.ok() ? "parsed" : std::string(table.status().message());
}

TEST(CsvTableTest, NamesColumnsFromTheHeader) {
  const auto table = ParseCsv("id,mean radius\na,1.5\nb,2\n", {});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->columns, ElementsAre("id", "mean radius"));
  EXPECT_THAT(table->rows, ElementsAre(ElementsAre("a", "1.5"), ElementsAre("b", "2")));
}

TEST(CsvTableTest, NumbersColumnsWithoutHeader) {
  const auto table = ParseCsv("a,1\nb,2", {.header = false});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->columns, ElementsAre("1", "2"));
  EXPECT_EQ(table->rows.size(), 2U);
}

TEST(CsvTableTest, ReadsQuotesDelimitersAndLineEndsInsideCells) {
  const auto table = ParseCsv(
      "\xef\xbb\xbf"
      "a,b\r\n\"x, \"\"y\"\"\",\"two\nlines\"\r\n\r\n",
      {});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->columns, ElementsAre("a", "b"));
  EXPECT_THAT(table->rows, ElementsAre(ElementsAre("x, \"y\"", "two\nlines")));
}

TEST(CsvTableTest, ReadsAnotherDelimiter) {
  const auto table = ParseCsv("a;b\n1,5;2\n", {.header = true, .delimiter = ';'});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->rows, ElementsAre(ElementsAre("1,5", "2")));
}

TEST(CsvTableTest, RefusesRowsOfAnotherWidthAndSaysWhich) {
  EXPECT_EQ(MessageOf("a,b\n1,2\n1\n"), "row 2 has 1 cells, not 2");
  EXPECT_EQ(MessageOf("a,b\n1,2,3\n"), "row 1 has 3 cells, not 2");
}

TEST(CsvTableTest, RefusesBrokenQuotes) {
  EXPECT_THAT(MessageOf("a,b\n1,2\n1,\"x"), HasSubstr("broken quotes in row 2"));
  EXPECT_THAT(MessageOf("a,b\n1,x\"y\n"), HasSubstr("broken quotes in row 1"));
  EXPECT_THAT(MessageOf("a,\"b"), HasSubstr("broken quotes in the header"));
}

TEST(CsvTableTest, RefusesAFileWithoutRows) {
  EXPECT_EQ(MessageOf(""), "the CSV has no rows");
  EXPECT_EQ(MessageOf("\n\n"), "the CSV has no rows");
  EXPECT_EQ(MessageOf("a,b\n"), "the CSV has no rows");
  EXPECT_EQ(MessageOf("a,b\n", {.header = false}), "parsed");
}

TEST(CsvTableTest, RefusesColumnsWithoutOrWithTheSameName) {
  EXPECT_EQ(MessageOf("a,\n1,2\n"), "the header's column 2 has no name");
  EXPECT_EQ(MessageOf("a,b,a\n1,2,3\n"), "the header's column 3 has a name that an earlier one has");
}

TEST(CsvTableTest, NamesAFileThatIsNotThere) {
  const auto table = ReadCsv("/nonexistent/x.csv", {});
  EXPECT_THAT(std::string(table.status().message()), HasSubstr("cannot read /nonexistent/x.csv"));
}

}  // namespace
}  // namespace expunge::cli
