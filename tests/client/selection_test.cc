#include "client/cli/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace expunge::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Words = std::vector<std::string>;
const Words kColumns = {"id", "mean radius", "mean area", "worst area", "3", "a,b"};

std::vector<size_t> Columns(const Words& words) {
  const auto chosen = SelectColumns(kColumns, words);
  EXPECT_TRUE(chosen.ok()) << chosen.status();
  return chosen.ok() ? *chosen : std::vector<size_t>();
}

std::string ColumnsMessage(const Words& words) {
  return std::string(SelectColumns(kColumns, words).status().message());
}

TEST(SelectColumnsTest, TakesNamesInTheOrderGiven) {
  EXPECT_THAT(Columns({"worst area,id"}), ElementsAre(3, 0));
  EXPECT_THAT(Columns({"worst area", "id"}), ElementsAre(3, 0));
  EXPECT_THAT(Columns({"worst area, id"}), ElementsAre(3, 0));
}

TEST(SelectColumnsTest, TakesNumbersAndRangesFromOne) {
  EXPECT_THAT(Columns({"1-3"}), ElementsAre(0, 1, 2));
  EXPECT_THAT(Columns({"4,1-2"}), ElementsAre(3, 0, 1));
}

TEST(SelectColumnsTest, TakesPatternsInTheOrderOfTheTable) {
  EXPECT_THAT(Columns({"mean*"}), ElementsAre(1, 2));
  EXPECT_THAT(Columns({"*area"}), ElementsAre(2, 3));
  EXPECT_THAT(Columns({"?d"}), ElementsAre(0));
}

TEST(SelectColumnsTest, PrefersAWholeNameToAnyOtherMeaning) {
  EXPECT_THAT(Columns({"3"}), ElementsAre(4));    // the column named 3, not the third
  EXPECT_THAT(Columns({"a,b"}), ElementsAre(5));  // one name with a comma
}

TEST(SelectColumnsTest, RefusesWhatFitsNothing) {
  EXPECT_EQ(ColumnsMessage({"nope"}), "no column is named 'nope'");
  EXPECT_EQ(ColumnsMessage({"id,,mean*"}), "no column is named ''");
  EXPECT_EQ(ColumnsMessage({"0-2"}), "column 0-2: the file has columns 1 to 6");
  EXPECT_EQ(ColumnsMessage({"5-7"}), "column 5-7: the file has columns 1 to 6");
  EXPECT_EQ(ColumnsMessage({"2-1"}), "column 2-1: the file has columns 1 to 6");
  EXPECT_EQ(ColumnsMessage({"99999999999999999999"}), "no column is named '99999999999999999999'");
}

TEST(SelectColumnsTest, RefusesAColumnTwice) {
  EXPECT_EQ(ColumnsMessage({"mean*,2"}), "column 'mean radius' is chosen twice");
}

TEST(SelectRowsTest, TakesNumbersAndRanges) {
  const auto rows = SelectRows(5, Words{"1-2,5"});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT(*rows, ElementsAre(true, true, false, false, true));
}

TEST(SelectRowsTest, RefusesOtherWordsAndRowsBeyondTheEnd) {
  EXPECT_EQ(SelectRows(5, Words{"x"}).status().message(), "'x' is no row number or range");
  EXPECT_EQ(SelectRows(5, Words{"1-"}).status().message(), "'1-' is no row number or range");
  EXPECT_EQ(SelectRows(5, Words{"-1"}).status().message(), "'-1' is no row number or range");
  EXPECT_EQ(SelectRows(5, Words{"4-6"}).status().message(), "row 4-6: the file has rows 1 to 5");
}

TEST(MatchesPatternTest, AgreesWithARecursiveDefinition) {
  // The definition, read off the header comment.
  const auto recursive = [](auto&& self, absl::string_view pattern, absl::string_view text) -> bool {
    if (pattern.empty()) return text.empty();
    if (pattern[0] == '*') {
      return self(self, pattern.substr(1), text) || (!text.empty() && self(self, pattern, text.substr(1)));
    }
    return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) &&
           self(self, pattern.substr(1), text.substr(1));
  };
  // Every pattern over {a, b, *, ?} and every text over {a, b}, up to four characters each.
  const auto all = [](absl::string_view alphabet) {
    Words words = {""};
    for (size_t i = 0; i < words.size(); ++i) {
      for (const char letter : alphabet) {
        if (words[i].size() < 4) words.push_back(words[i] + letter);
      }
    }
    return words;
  };
  size_t matches = 0;
  for (const std::string& pattern : all("ab*?")) {
    for (const std::string& text : all("ab")) {
      ASSERT_EQ(MatchesPattern(pattern, text), recursive(recursive, pattern, text))
          << pattern << " on " << text;
      matches += MatchesPattern(pattern, text) ? 1 : 0;
    }
  }
  EXPECT_GT(matches, 1000U);
}

}  // namespace
}  // namespace expunge::cli
