#include "client/cli/csv_options.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"

namespace expunge::cli {
namespace {

constexpr size_t kMaxStandardizationBytes = size_t{64} << 20;
// Below the 4 MiB that gRPC accepts by default, with room for names.
constexpr size_t kMaxVectorBytes = size_t{3} << 20;

}  // namespace

void AddCsvOptions(CLI::App* command, CsvOptions* options) {
  DatasetOptions* dataset = &options->dataset;
  command->add_option("--csv", options->path, "The CSV file (RFC 4180)");
  command->add_flag("--header,!--no-header", options->header,
                    "Whether the first line names the columns (default: yes)");
  command->add_option("--delimiter", options->delimiter, "Between cells (default: ,)")
      ->check(
          CLI::Validator([](std::string& text) { return text.size() == 1 ? "" : "one character"; }, "CHAR"));
  command
      ->add_option("--key-columns", dataset->key_columns,
                   "Names (a,b), numbers (4-33, counted from 1) or patterns ('mean*')")
      ->allow_extra_args(false);
  command->add_option("--id-column", dataset->id_column, "The column of ids (default: row-1, row-2, ...)");
  command
      ->add_option("--rows", dataset->rows, "Only these rows, counted from 1 without the header (1-100,200)")
      ->allow_extra_args(false);
  command->add_option("--skip-rows", dataset->skip_rows, "All rows but these")->allow_extra_args(false);
  command->add_option("--only-ids", dataset->only_ids, "Only the ids in this file, one a line");
  command->add_option("--exclude-ids", dataset->exclude_ids, "All ids but those in this file, one a line");
  command
      ->add_option("--progress", options->progress,
                   "auto (on a terminal), always or never; on standard error")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

absl::StatusOr<Dataset> LoadDataset(const CsvOptions& options) {
  if (options.dataset.key_columns.empty()) {
    return UsageFailure("--key-columns is missing",
                        "name the columns that make up a key, such as 4-33 or 'mean*'");
  }
  EXPUNGE_ASSIGN_OR_RETURN(const CsvTable table,
                           ReadCsv(options.path, {options.header, options.delimiter.front()}));
  auto dataset = BuildDataset(table, options.dataset);
  if (!dataset.ok()) return WithContext(options.path, dataset.status());
  return dataset;
}

absl::StatusOr<Standardization> LoadStandardization(const std::string& path) {
  EXPUNGE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxStandardizationBytes));
  auto numbers = StandardizationFromJson(text);
  if (!numbers.ok()) return WithContext(path, numbers.status());
  return numbers;
}

absl::Status CheckColumns(const Standardization& numbers, const std::vector<std::string>& columns) {
  if (numbers.columns == columns) return absl::OkStatus();
  return UsageFailure(
      absl::StrCat("the standardisation is for ", numbers.columns.size(), " other key columns than the ",
                   columns.size(), " chosen, or for another order of them"),
      "choose the same --key-columns as when it was computed");
}

ProgressMode ParseProgressMode(const std::string& word) {
  if (word == "always") return ProgressMode::kAlways;
  return word == "never" ? ProgressMode::kNever : ProgressMode::kAuto;
}

size_t BatchRows(size_t wanted, size_t columns) {
  const size_t fitting = kMaxVectorBytes / (std::max<size_t>(columns, 1) * sizeof(double));
  return std::max<size_t>(1, std::min(wanted, fitting));
}

}  // namespace expunge::cli
