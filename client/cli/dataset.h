// Rows of a CSV file as tokens or queries: which columns are key, value, subject and id, and which rows are
// wanted.
#ifndef EXPUNGE_CLIENT_CLI_DATASET_H_
#define EXPUNGE_CLIENT_CLI_DATASET_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/csv_table.h"
#include "client/cpp/vectors.h"

namespace expunge::cli {

struct DatasetOptions {
  std::vector<std::string> key_columns;      // words for SelectColumns; at least one
  std::vector<std::string> value_columns;    // numbers; excludes one_hot
  std::string one_hot;                       // a column of categories; excludes value_columns
  std::vector<std::string> categories;       // of one_hot; empty: all that the file has, in ascending order
  std::vector<std::string> subject_columns;  // empty: every token is its own subject
  std::string id_column;                     // empty: "row-1", "row-2", ...
  std::vector<std::string> rows;             // words for SelectRows; empty: all
  std::vector<std::string> skip_rows;
  std::string only_ids;     // path of a file with one id a line; empty: all
  std::string exclude_ids;  // the same, of ids to leave out
};

// Invariant: ids, row_numbers, subjects have keys.rows elements, and so has values if it has columns.
struct Dataset {
  std::vector<std::string> ids;
  std::vector<size_t> row_numbers;  // in the file, from 1
  std::vector<std::vector<std::string>> subjects;
  client::Matrix keys;
  client::Matrix values;
  std::vector<std::string> key_columns;
  std::vector<std::string> value_labels;  // "diagnosis=benign", or the names of the columns
  std::vector<std::string> categories;    // of a one-hot value
};

// The chosen rows in the order of the file. Messages give row and column, never a cell's content.
// Returns: a UsageFailure for columns that are not there, cells that are no finite number or no known
// category, rows without id or subject, two rows with the same id, ids in a file that the CSV does not have,
// no row left.
[[nodiscard]] absl::StatusOr<Dataset> BuildDataset(const CsvTable& table, const DatasetOptions& options);

// "1,2.5,-3" as numbers. Returns: a UsageFailure unless each part is a finite number.
[[nodiscard]] absl::StatusOr<std::vector<double>> ParseVector(const std::string& text);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_DATASET_H_
