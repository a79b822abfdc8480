#include "client/cli/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "client/cli/failure.h"

namespace expunge::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kCsv[] =
    "id,who,also,kind,x,y\n"
    "t1,ann,,red,1,2\n"
    "t2,bob,ann,blue,3,4.5\n"
    "t3,cid,cid,red,-5,6e2\n";

DatasetOptions Options() {
  DatasetOptions options;
  options.key_columns = {"x,y"};
  options.one_hot = "kind";
  options.subject_columns = {"who,also"};
  options.id_column = "id";
  return options;
}

absl::StatusOr<Dataset> Build(absl::string_view csv, const DatasetOptions& options) {
  const auto table = ParseCsv(csv, {});
  EXPECT_TRUE(table.ok()) << table.status();
  return BuildDataset(*table, options);
}

std::string MessageOf(absl::string_view csv, const DatasetOptions& options) {
  const auto dataset = Build(csv, options);
  EXPECT_EQ(ExitCodeOf(dataset.status()), kExitUsage);
  EXPECT_NE(HintOf(dataset.status()), "");
  return std::string(dataset.status().message());
}

std::string IdFile(const std::string& name, absl::string_view text) {
  const std::string path = ::testing::TempDir() + "/expunge_dataset_" + name;
  std::ofstream(path) << text;
  return path;
}

TEST(DatasetTest, TakesKeysValuesSubjectsAndIds) {
  const auto dataset = Build(kCsv, Options());
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(dataset->ids, ElementsAre("t1", "t2", "t3"));
  EXPECT_THAT(dataset->key_columns, ElementsAre("x", "y"));
  EXPECT_THAT(dataset->keys.data, ElementsAre(1, 2, 3, 4.5, -5, 600));
  // Empty cells are no subjects, and a subject named twice is one.
  EXPECT_THAT(dataset->subjects,
              ElementsAre(ElementsAre("ann"), ElementsAre("bob", "ann"), ElementsAre("cid")));
  EXPECT_THAT(dataset->value_labels, ElementsAre("kind=blue", "kind=red"));
  EXPECT_THAT(dataset->values.data, ElementsAre(0, 1, 1, 0, 0, 1));
}

TEST(DatasetTest, NumbersRowsWithoutAnIdColumn) {
  DatasetOptions options = Options();
  options.id_column.clear();
  options.subject_columns.clear();
  options.skip_rows = {"1"};
  const auto dataset = Build(kCsv, options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  // The number is that of the file, whichever rows are chosen.
  EXPECT_THAT(dataset->ids, ElementsAre("row-2", "row-3"));
  EXPECT_THAT(dataset->row_numbers, ElementsAre(2, 3));
  EXPECT_THAT(dataset->subjects, ElementsAre(ElementsAre("row-2"), ElementsAre("row-3")));
}

TEST(DatasetTest, ARowWithoutACategoryThatIsLeftOutAddsNone) {
  const std::string csv = std::string(kCsv) + "t4,dan,,,7,8\n";
  EXPECT_THAT(MessageOf(csv, Options()), HasSubstr("row 4, column 'kind': no category"));
  DatasetOptions options = Options();
  options.skip_rows = {"4"};
  const auto dataset = Build(csv, options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(dataset->value_labels, ElementsAre("kind=blue", "kind=red"));
}

TEST(DatasetTest, TakesNumbersAsValues) {
  DatasetOptions options = Options();
  options.one_hot.clear();
  options.key_columns = {"x"};
  options.value_columns = {"y"};
  const auto dataset = Build(kCsv, options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(dataset->values.data, ElementsAre(2, 4.5, 600));
  EXPECT_THAT(dataset->value_labels, ElementsAre("y"));
}

TEST(DatasetTest, CategoriesKeepTheirPlaceWhicheverRowsAreChosen) {
  DatasetOptions options = Options();
  options.rows = {"1,3"};  // both red
  const auto dataset = Build(kCsv, options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(dataset->values.data, ElementsAre(0, 1, 0, 1));
}

TEST(DatasetTest, ChoosesRowsByIdFiles) {
  DatasetOptions options = Options();
  options.exclude_ids = IdFile("exclude", "t2\n\n");
  auto dataset = Build(kCsv, options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(dataset->ids, ElementsAre("t1", "t3"));
  options.exclude_ids.clear();
  options.only_ids = IdFile("only", "t3\r\nt1");
  dataset = Build(kCsv, options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(dataset->ids, ElementsAre("t1", "t3"));
}

TEST(DatasetTest, RefusesAnIdFileThatNamesNoRow) {
  DatasetOptions options = Options();
  options.exclude_ids = IdFile("typo", "t1\nt9\n");
  EXPECT_THAT(MessageOf(kCsv, options), HasSubstr("line 2: the CSV has no row with this id"));
}

TEST(DatasetTest, RefusesASelectionThatLeavesNothing) {
  DatasetOptions options = Options();
  options.skip_rows = {"1-3"};
  EXPECT_EQ(MessageOf(kCsv, options), "no row is left after the selection");
}

TEST(DatasetTest, RefusesCellsThatAreNoFiniteNumberAndDoesNotRepeatThem) {
  for (const std::string cell : {"nan", "inf", "-Infinity", "1e999", "secret", "", "1,5", "0x"}) {
    const std::string csv = "id,who,also,kind,x,y\nt1,ann,,red,1,\"" + cell + "\"\n";
    EXPECT_EQ(MessageOf(csv, Options()), "row 1, column 'y': not a finite number") << cell;
  }
}

TEST(DatasetTest, RefusesRepeatedAndMissingIds) {
  const std::string header = "id,who,also,kind,x,y\n";
  EXPECT_EQ(MessageOf(header + "t1,a,,red,1,2\nt2,a,,red,1,2\nt1,a,,red,1,2\n", Options()),
            "rows 1 and 3 have the same id");
  EXPECT_EQ(MessageOf(header + ",a,,red,1,2\n", Options()), "row 1 has no id in column 'id'");
}

TEST(DatasetTest, RefusesRowsWithoutSubjectOrCategory) {
  const std::string header = "id,who,also,kind,x,y\n";
  EXPECT_EQ(MessageOf(header + "t1,,,red,1,2\n", Options()), "row 1 names no subject");
  EXPECT_THAT(MessageOf(header + "t1,a,,,1,2\n", Options()), HasSubstr("column 'kind': no category"));
  DatasetOptions options = Options();
  options.categories = {"blue", "green"};
  EXPECT_THAT(MessageOf(kCsv, options), HasSubstr("row 1, column 'kind': a category that"));
}

TEST(DatasetTest, RefusesColumnsThatAreNotThere) {
  DatasetOptions options = Options();
  options.key_columns = {"x,z"};
  EXPECT_EQ(MessageOf(kCsv, options), "no column is named 'z'");
  options = Options();
  options.id_column = "x*,y";
  EXPECT_THAT(MessageOf(kCsv, options), HasSubstr("means 2 columns"));
}

TEST(ParseVectorTest, ReadsNumbersAndNamesTheElementThatIsNone) {
  const auto vector = ParseVector("1, -2.5,3e-1");
  ASSERT_TRUE(vector.ok()) << vector.status();
  EXPECT_THAT(*vector, ElementsAre(1, -2.5, 0.3));
  EXPECT_EQ(ParseVector("1,nan").status().message(), "element 2 is not a finite number");
  EXPECT_EQ(ParseVector("").status().message(), "element 1 is not a finite number");
}

}  // namespace
}  // namespace expunge::cli
