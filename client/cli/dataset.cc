#include "client/cli/dataset.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"
#include "client/cli/selection.h"

namespace expunge::cli {
namespace {

constexpr size_t kMaxIdFileBytes = size_t{256} << 20;

// True if `text` is a finite number.
bool ParseFinite(absl::string_view text, double* number) {
  return absl::SimpleAtod(text, number) && std::isfinite(*number);
}

absl::StatusOr<size_t> SelectColumn(const CsvTable& table, const std::string& word) {
  EXPUNGE_ASSIGN_OR_RETURN(const std::vector<size_t> columns, SelectColumns(table.columns, {word}));
  if (columns.size() != 1) {
    return UsageFailure(absl::StrCat("'", word, "' means ", columns.size(), " columns"),
                        "name exactly one column");
  }
  return columns.front();
}

// The id of every row of the table, checked for presence and uniqueness.
absl::StatusOr<std::vector<std::string>> RowIds(const CsvTable& table, const std::string& id_column) {
  std::vector<std::string> ids;
  if (id_column.empty()) {
    for (size_t row = 1; row <= table.rows.size(); ++row) ids.push_back(absl::StrCat("row-", row));
    return ids;
  }
  EXPUNGE_ASSIGN_OR_RETURN(const size_t column, SelectColumn(table, id_column));
  std::map<std::string, size_t> first_row;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const std::string& id = table.rows[row][column];
    if (id.empty()) {
      return UsageFailure(absl::StrCat("row ", row + 1, " has no id in column '", table.columns[column], "'"),
                          "give every row an id, or leave out --id-column to use row numbers");
    }
    const auto [found, inserted] = first_row.emplace(id, row + 1);
    if (!inserted) {
      return UsageFailure(absl::StrCat("rows ", found->second, " and ", row + 1, " have the same id"),
                          "ids must be unique; nothing was imported");
    }
    ids.push_back(id);
  }
  return ids;
}

// The ids in the file `path`, one a line; each must be in `known`.
absl::StatusOr<std::set<std::string>> ReadIds(const std::string& path, const std::set<std::string>& known) {
  EXPUNGE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxIdFileBytes));
  std::set<std::string> ids;
  size_t line_number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    const std::string id(absl::StripAsciiWhitespace(line));
    if (id.empty()) continue;
    if (!known.contains(id)) {
      return UsageFailure(absl::StrCat(path, ", line ", line_number, ": the CSV has no row with this id"),
                          "one id a line, spelled as in the id column");
    }
    ids.insert(id);
  }
  return ids;
}

// For every row of the table whether it is wanted.
absl::StatusOr<std::vector<bool>> WantedRows(const CsvTable& table, const std::vector<std::string>& ids,
                                             const DatasetOptions& options) {
  std::vector<bool> wanted(table.rows.size(), true);
  if (!options.rows.empty()) {
    EXPUNGE_ASSIGN_OR_RETURN(wanted, SelectRows(table.rows.size(), options.rows));
  }
  if (!options.skip_rows.empty()) {
    EXPUNGE_ASSIGN_OR_RETURN(const std::vector<bool> skipped,
                             SelectRows(table.rows.size(), options.skip_rows));
    for (size_t row = 0; row < wanted.size(); ++row) wanted[row] = wanted[row] && !skipped[row];
  }
  const std::set<std::string> known(ids.begin(), ids.end());
  for (const bool keep_listed : {true, false}) {
    const std::string& path = keep_listed ? options.only_ids : options.exclude_ids;
    if (path.empty()) continue;
    EXPUNGE_ASSIGN_OR_RETURN(const std::set<std::string> listed, ReadIds(path, known));
    for (size_t row = 0; row < wanted.size(); ++row) {
      wanted[row] = wanted[row] && listed.contains(ids[row]) == keep_listed;
    }
  }
  if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) {
    return UsageFailure("no row is left after the selection",
                        "check --rows, --skip-rows, --only-ids and --exclude-ids");
  }
  return wanted;
}

absl::StatusOr<client::Matrix> Numbers(const CsvTable& table, const std::vector<size_t>& row_numbers,
                                       const std::vector<size_t>& columns) {
  client::Matrix matrix{row_numbers.size(), columns.size(), {}};
  matrix.data.reserve(matrix.rows * matrix.columns);
  for (const size_t row : row_numbers) {
    for (const size_t column : columns) {
      double number = 0;
      if (!ParseFinite(table.rows[row - 1][column], &number)) {
        return UsageFailure(
            absl::StrCat("row ", row, ", column '", table.columns[column], "': not a finite number"),
            "nothing was sent; correct the cell, or leave the row out with --skip-rows");
      }
      matrix.data.push_back(number);
    }
  }
  return matrix;
}

absl::Status AddOneHot(const CsvTable& table, const DatasetOptions& options, Dataset* dataset) {
  EXPUNGE_ASSIGN_OR_RETURN(const size_t column, SelectColumn(table, options.one_hot));
  dataset->categories = options.categories;
  if (dataset->categories.empty()) {
    std::set<std::string> all;
    for (const auto& row : table.rows) {
      // No category; a row that is chosen and has none is refused below.
      if (!row[column].empty()) all.insert(row[column]);
    }
    dataset->categories.assign(all.begin(), all.end());
  }
  dataset->values = {dataset->keys.rows, dataset->categories.size(), {}};
  for (const size_t row : dataset->row_numbers) {
    const std::string& cell = table.rows[row - 1][column];
    const auto found = std::find(dataset->categories.begin(), dataset->categories.end(), cell);
    if (cell.empty() || found == dataset->categories.end()) {
      return UsageFailure(
          absl::StrCat(
              "row ", row, ", column '", table.columns[column],
              "': ", cell.empty() ? "no category" : "a category that the standardisation file does not have"),
          "correct the cell, or leave the row out with --skip-rows");
    }
    for (auto it = dataset->categories.begin(); it != dataset->categories.end(); ++it) {
      dataset->values.data.push_back(it == found ? 1.0 : 0.0);
    }
  }
  for (const std::string& category : dataset->categories) {
    dataset->value_labels.push_back(absl::StrCat(table.columns[column], "=", category));
  }
  return absl::OkStatus();
}

absl::Status AddValues(const CsvTable& table, const DatasetOptions& options, Dataset* dataset) {
  if (!options.one_hot.empty()) return AddOneHot(table, options, dataset);
  if (options.value_columns.empty()) return absl::OkStatus();
  EXPUNGE_ASSIGN_OR_RETURN(const std::vector<size_t> columns,
                           SelectColumns(table.columns, options.value_columns));
  EXPUNGE_ASSIGN_OR_RETURN(dataset->values, Numbers(table, dataset->row_numbers, columns));
  for (const size_t column : columns) dataset->value_labels.push_back(table.columns[column]);
  return absl::OkStatus();
}

absl::Status AddSubjects(const CsvTable& table, const DatasetOptions& options, Dataset* dataset) {
  std::vector<size_t> columns;
  if (!options.subject_columns.empty()) {
    EXPUNGE_ASSIGN_OR_RETURN(columns, SelectColumns(table.columns, options.subject_columns));
  }
  for (size_t i = 0; i < dataset->ids.size(); ++i) {
    std::vector<std::string> subjects;
    if (columns.empty()) subjects.push_back(dataset->ids[i]);
    for (const size_t column : columns) {
      const std::string& cell = table.rows[dataset->row_numbers[i] - 1][column];
      const bool known = std::find(subjects.begin(), subjects.end(), cell) != subjects.end();
      if (!cell.empty() && !known) subjects.push_back(cell);
    }
    if (subjects.empty()) {
      return UsageFailure(absl::StrCat("row ", dataset->row_numbers[i], " names no subject"),
                          "every token needs at least one; nothing was imported");
    }
    dataset->subjects.push_back(std::move(subjects));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Dataset> BuildDataset(const CsvTable& table, const DatasetOptions& options) {
  Dataset dataset;
  EXPUNGE_ASSIGN_OR_RETURN(const std::vector<size_t> key_columns,
                           SelectColumns(table.columns, options.key_columns));
  EXPUNGE_ASSIGN_OR_RETURN(const std::vector<std::string> ids, RowIds(table, options.id_column));
  EXPUNGE_ASSIGN_OR_RETURN(const std::vector<bool> wanted, WantedRows(table, ids, options));
  for (size_t row = 0; row < table.rows.size(); ++row) {
    if (!wanted[row]) continue;
    dataset.row_numbers.push_back(row + 1);
    dataset.ids.push_back(ids[row]);
  }
  for (const size_t column : key_columns) dataset.key_columns.push_back(table.columns[column]);
  EXPUNGE_ASSIGN_OR_RETURN(dataset.keys, Numbers(table, dataset.row_numbers, key_columns));
  EXPUNGE_RETURN_IF_ERROR(AddValues(table, options, &dataset));
  EXPUNGE_RETURN_IF_ERROR(AddSubjects(table, options, &dataset));
  return dataset;
}

absl::StatusOr<std::vector<double>> ParseVector(const std::string& text) {
  std::vector<double> numbers;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    double number = 0;
    if (!ParseFinite(absl::StripAsciiWhitespace(part), &number)) {
      return UsageFailure(absl::StrCat("element ", numbers.size() + 1, " is not a finite number"),
                          "write a vector as 1,2.5,-3");
    }
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace expunge::cli
