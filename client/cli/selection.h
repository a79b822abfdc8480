// Choosing columns and rows of a CSV table from words on the command line.
//
// Columns: a comma-separated list of names ("mean radius"), patterns with * and ? ("mean*"), numbers ("4")
// and ranges of numbers ("4-33"), counted from 1. A part that is the whole name of a column means that
// column, whatever else it could mean. Rows: numbers and ranges, counted from 1 without the header
// ("1-100,200").
#ifndef EXPUNGE_CLIENT_CLI_SELECTION_H_
#define EXPUNGE_CLIENT_CLI_SELECTION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace expunge::cli {

// Indices, counted from 0, in the order of the words; a pattern's columns in the order of the table.
// Returns: a UsageFailure for a part that fits no column, and for a column chosen twice.
[[nodiscard]] absl::StatusOr<std::vector<size_t>> SelectColumns(absl::Span<const std::string> columns,
                                                                absl::Span<const std::string> words);

// For each of `rows` rows whether `words` choose it.
// Returns: a UsageFailure for a part that is no number or range, or lies beyond the last row.
[[nodiscard]] absl::StatusOr<std::vector<bool>> SelectRows(size_t rows, absl::Span<const std::string> words);

// Whether `text` as a whole fits `pattern`: * stands for any characters, ? for one. Cost: O(|pattern|
// |text|).
[[nodiscard]] bool MatchesPattern(absl::string_view pattern, absl::string_view text);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_SELECTION_H_
