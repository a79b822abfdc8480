// Options by which import and read take rows and columns from a CSV file.
#ifndef EXPUNGE_CLIENT_CLI_CSV_OPTIONS_H_
#define EXPUNGE_CLIENT_CLI_CSV_OPTIONS_H_

#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "base/progress.h"
#include "client/cli/csv_table.h"
#include "client/cli/dataset.h"
#include "client/cli/standardization.h"

namespace expunge::cli {

struct CsvOptions {
  std::string path;
  bool header = true;
  std::string delimiter = ",";
  DatasetOptions dataset;
  std::string progress = "auto";
};

// Adds --csv, --header/--no-header, --delimiter, --key-columns, --id-column, the choice of rows, and
// --progress. REQUIRES: `options` outlives the parsing.
void AddCsvOptions(CLI::App* command, CsvOptions* options);

// The chosen rows. Messages name the file.
[[nodiscard]] absl::StatusOr<Dataset> LoadDataset(const CsvOptions& options);

[[nodiscard]] absl::StatusOr<Standardization> LoadStandardization(const std::string& path);

// Returns: a UsageFailure unless the numbers belong to exactly these columns, in this order.
[[nodiscard]] absl::Status CheckColumns(const Standardization& numbers,
                                        const std::vector<std::string>& columns);

[[nodiscard]] ProgressMode ParseProgressMode(const std::string& word);

// How many rows of `columns` doubles go into one message: at most `wanted`, and less than 3 MiB; at least 1.
[[nodiscard]] size_t BatchRows(size_t wanted, size_t columns);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_CSV_OPTIONS_H_
