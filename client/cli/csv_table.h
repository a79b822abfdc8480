// CSV (RFC 4180) as a table of text cells, read by libcsv in its strict mode.
//
// Rows are numbered 1, 2, 3, ... without the header; blank lines are no rows. Spaces around an unquoted cell
// do not belong to it. A byte order mark at the start is skipped.
#ifndef EXPUNGE_CLIENT_CLI_CSV_TABLE_H_
#define EXPUNGE_CLIENT_CLI_CSV_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace expunge::cli {

struct CsvFormat {
  bool header = true;
  char delimiter = ',';
};

// Invariant: every row has columns.size() cells.
struct CsvTable {
  std::vector<std::string> columns;  // from the header, or "1", "2", "3", ...
  std::vector<std::vector<std::string>> rows;
};

// Returns: a UsageFailure with the number of the row that is at fault: broken quotes, another number of
// cells, an empty or repeated column name, no rows at all. Cost: O(size).
[[nodiscard]] absl::StatusOr<CsvTable> ParseCsv(absl::string_view text, const CsvFormat& format);

// ParseCsv of a file; its messages name the path.
[[nodiscard]] absl::StatusOr<CsvTable> ReadCsv(const std::string& path, const CsvFormat& format);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_CSV_TABLE_H_
