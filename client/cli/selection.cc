#include "client/cli/selection.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "client/cli/failure.h"

namespace expunge::cli {
namespace {

struct Range {
  size_t first = 0;  // counted from 1
  size_t last = 0;
};

std::optional<size_t> ParseNumber(absl::string_view text) {
  uint64_t number = 0;
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
  if (!digits || !absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

// "7" or "7-9"; nullopt for anything else.
std::optional<Range> ParseRange(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(text, absl::MaxSplits('-', 1));
  const auto first = ParseNumber(ends.first);
  const auto last = absl::StrContains(text, "-") ? ParseNumber(ends.second) : first;
  if (!first.has_value() || !last.has_value()) return std::nullopt;
  return Range{*first, *last};
}

absl::Status CheckRange(const Range& range, size_t count, absl::string_view what) {
  if (range.first >= 1 && range.first <= range.last && range.last <= count) return absl::OkStatus();
  return UsageFailure(
      absl::StrCat(what, " ", range.first, "-", range.last, ": the file has ", what, "s 1 to ", count),
      "count from 1, the smaller number first");
}

// The comma-separated parts of the words; a word that is one of `names` stays whole.
std::vector<std::string> SplitParts(absl::Span<const std::string> words,
                                    absl::Span<const std::string> names) {
  std::vector<std::string> parts;
  for (const std::string& word : words) {
    if (std::find(names.begin(), names.end(), word) != names.end()) {
      parts.push_back(word);
      continue;
    }
    for (const absl::string_view part : absl::StrSplit(word, ',')) {
      parts.emplace_back(absl::StripAsciiWhitespace(part));
    }
  }
  return parts;
}

// The columns that one part of a selection means.
absl::StatusOr<std::vector<size_t>> ColumnsOf(absl::Span<const std::string> columns,
                                              const std::string& part) {
  const auto exact = std::find(columns.begin(), columns.end(), part);
  if (exact != columns.end()) return std::vector<size_t>{static_cast<size_t>(exact - columns.begin())};
  std::vector<size_t> chosen;
  if (const auto range = ParseRange(part); range.has_value()) {
    EXPUNGE_RETURN_IF_ERROR(CheckRange(*range, columns.size(), "column"));
    for (size_t i = range->first; i <= range->last; ++i) chosen.push_back(i - 1);
    return chosen;
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (MatchesPattern(part, columns[i])) chosen.push_back(i);
  }
  if (chosen.empty()) {
    return UsageFailure(
        absl::StrCat("no column is named '", part, "'"),
        "the first line of the CSV names the columns; with --no-header use numbers such as 1-30");
  }
  return chosen;
}

}  // namespace

absl::StatusOr<std::vector<size_t>> SelectColumns(absl::Span<const std::string> columns,
                                                  absl::Span<const std::string> words) {
  std::vector<size_t> chosen;
  for (const std::string& part : SplitParts(words, columns)) {
    EXPUNGE_ASSIGN_OR_RETURN(const std::vector<size_t> found, ColumnsOf(columns, part));
    for (const size_t column : found) {
      if (std::find(chosen.begin(), chosen.end(), column) != chosen.end()) {
        return UsageFailure(absl::StrCat("column '", columns[column], "' is chosen twice"),
                            "choose each column once");
      }
      chosen.push_back(column);
    }
  }
  return chosen;
}

absl::StatusOr<std::vector<bool>> SelectRows(size_t rows, absl::Span<const std::string> words) {
  std::vector<bool> chosen(rows, false);
  for (const std::string& part : SplitParts(words, {})) {
    const auto range = ParseRange(part);
    if (!range.has_value()) {
      return UsageFailure(absl::StrCat("'", part, "' is no row number or range"), "write rows as 1-100,200");
    }
    EXPUNGE_RETURN_IF_ERROR(CheckRange(*range, rows, "row"));
    std::fill(chosen.begin() + static_cast<std::ptrdiff_t>(range->first - 1),
              chosen.begin() + static_cast<std::ptrdiff_t>(range->last), true);
  }
  return chosen;
}

bool MatchesPattern(absl::string_view pattern, absl::string_view text) {
  // On a mismatch, the last * takes one character more.
  size_t p = 0;
  size_t t = 0;
  size_t star = absl::string_view::npos;
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace expunge::cli
