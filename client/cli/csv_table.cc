#include "client/cli/csv_table.h"

#include <csv.h>

#include <cstdint>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"

namespace expunge::cli {
namespace {

constexpr size_t kMaxCsvBytes = size_t{1} << 30;
constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

struct Collector {
  std::vector<std::string> row;
  std::vector<std::vector<std::string>> rows;
};

void OnCell(void* cell, size_t size, void* collector) {
  static_cast<Collector*>(collector)->row.emplace_back(static_cast<const char*>(cell), size);
}

void OnRow(int /*terminator*/, void* collector) {
  auto* all = static_cast<Collector*>(collector);
  all->rows.push_back(std::move(all->row));
  all->row.clear();
}

// libcsv's parser, freed in any case.
class Parser {
 public:
  Parser() : ready_(csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) == 0) {}
  ~Parser() { csv_free(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  // False if `text` is not CSV; collector->rows then holds the rows before the fault.
  bool Run(absl::string_view text, char delimiter, Collector* collector) {
    if (!ready_) return false;
    csv_set_delim(&parser_, static_cast<unsigned char>(delimiter));
    return csv_parse(&parser_, text.data(), text.size(), OnCell, OnRow, collector) == text.size() &&
           csv_fini(&parser_, OnCell, OnRow, collector) == 0;
  }

 private:
  csv_parser parser_{};
  bool ready_;
};

absl::Status CheckColumnNames(const std::vector<std::string>& columns) {
  std::set<std::string> seen;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].empty() || !seen.insert(columns[i]).second) {
      return UsageFailure(
          absl::StrCat("the header's column ", i + 1,
                       columns[i].empty() ? " has no name" : " has a name that an earlier one has"),
          "name every column once, or use --no-header and column numbers");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CsvTable> ParseCsv(absl::string_view text, const CsvFormat& format) {
  absl::ConsumePrefix(&text, kByteOrderMark);
  Collector collector;
  const size_t header_rows = format.header ? 1 : 0;
  if (!Parser().Run(text, format.delimiter, &collector)) {
    const size_t parsed = collector.rows.size();
    return UsageFailure(absl::StrCat("not CSV: broken quotes in ",
                                     parsed < header_rows ? std::string("the header")
                                                          : absl::StrCat("row ", parsed - header_rows + 1)),
                        "quote a cell as \"...\" and a quote inside it as \"\"");
  }
  if (collector.rows.size() <= header_rows) {
    return UsageFailure("the CSV has no rows",
                        format.header ? "if it has no header, say --no-header" : "check the file");
  }
  CsvTable table;
  if (format.header) {
    table.columns = std::move(collector.rows.front());
    collector.rows.erase(collector.rows.begin());
    EXPUNGE_RETURN_IF_ERROR(CheckColumnNames(table.columns));
  } else {
    for (size_t i = 1; i <= collector.rows.front().size(); ++i) table.columns.push_back(absl::StrCat(i));
  }
  for (size_t i = 0; i < collector.rows.size(); ++i) {
    if (collector.rows[i].size() != table.columns.size()) {
      return UsageFailure(absl::StrCat("row ", i + 1, " has ", collector.rows[i].size(), " cells, not ",
                                       table.columns.size()),
                          "every row needs the same number of cells; is --delimiter right?");
    }
  }
  table.rows = std::move(collector.rows);
  return table;
}

absl::StatusOr<CsvTable> ReadCsv(const std::string& path, const CsvFormat& format) {
  EXPUNGE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxCsvBytes));
  auto table = ParseCsv(text, format);
  if (!table.ok()) return WithContext(path, table.status());
  return table;
}

}  // namespace expunge::cli
