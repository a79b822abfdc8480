#include "bench/solver/report.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace expunge::bench {
namespace {

constexpr char kLegend[] =
    R"(gaussian    keys standard normal, d = 64; clustered: 8 centres, spread 0.2, 1 % outliers; gamma = 1/64, ridge 1e-6
|S|, |E|    tokens strictly inside the box bound C, and at it, at the start; all others are in reserve (R)
cold        our solver from nothing on the same tokens. '=': with a smaller C, the first that bounds no weight at this
            n, so that the problem is the same; libsvm likewise
libsvm      its one-class machine fitted anew: nu = 1/(n C), tolerance 1e-6, single precision, no ridge; '-': left out
floor       one pass over |S| kernel rows of n floats: read, multiply, add
delete, add one call with one token, canonical and proven when it returns. A random token of S, E or R goes and
            comes back; every second time a token of the support makes room for one that was outside
iterations  linear systems solved, and tokens that change their class, on average in a deletion from S
bytes       held for each token beyond key and value, at the end
bits        at the end the fingerprint was that of the cold solution of the same tokens
)";

std::string Key(const Row& row) {
  return absl::StrFormat("%-9s %6d %-8s", ShapeName(row.setting), row.setting.n, BoxName(row.setting));
}

// Three digits, at least.
std::string Short(double x) {
  const int decimals = x < 10 ? 2 : x < 100 ? 1 : 0;
  return absl::StrFormat("%.*f", decimals, x);
}

// Marks what was measured with another C.
std::string Mark(const Row& row, const std::string& number) {
  return row.baseline_c == BoxValue(row.setting) ? number : absl::StrCat("=", number);
}

std::string OrDash(std::optional<double> x, double scale) { return x.has_value() ? Short(*x * scale) : "-"; }

double PerCall(uint64_t total, const Sample& sample) {
  return static_cast<double>(total) / static_cast<double>(sample.us.size());
}

// A line without blanks at its end.
void AppendLine(std::string line, std::string* table) {
  absl::StripTrailingAsciiWhitespace(&line);
  absl::StrAppend(table, line, "\n");
}

void AppendMemories(const std::vector<Row>& rows, std::string* table) {
  AppendLine(
      absl::StrFormat("%-9s %6s %-8s %6s %6s %10s %10s %10s %10s %8s %6s %5s", "data", "n", "C", "|S|", "|E|",
                      "cold ms", "libsvm ms", "floor us", "iterations", "changes", "bytes", "bits"),
      table);
  for (const Row& row : rows) {
    const Sample& sample = row.Of(Op::kDeleteMargin);
    const bool any = !sample.us.empty();
    AppendLine(
        absl::StrFormat("%s %6d %6d %10s %10s %10s %10s %8s %6.0f %5s", Key(row), row.margin, row.error,
                        Mark(row, Short(row.cold_us / 1000)), Mark(row, OrDash(row.libsvm_us, 1e-3)),
                        row.floor_us > 0 ? Short(row.floor_us) : "-",
                        any ? Short(PerCall(sample.iterations, sample)) : "-",
                        any ? Short(PerCall(sample.set_changes, sample)) : "-", row.bytes_per_token,
                        row.bits_equal ? "equal" : "WRONG"),
        table);
  }
}

std::string OpTitles() {
  std::string line = absl::StrFormat("%-9s %6s %-8s", "data", "n", "C");
  for (const Op op : kOps) absl::StrAppendFormat(&line, " %17s", Name(op));
  return line;
}

void AppendTimes(const std::vector<Row>& rows, std::string* table) {
  AppendLine("microseconds: median / 95 % are faster", table);
  AppendLine(OpTitles(), table);
  for (const Row& row : rows) {
    std::string line = Key(row);
    for (const Op op : kOps) {
      const Sample& sample = row.Of(op);
      const std::string cell =
          sample.us.empty() ? "-" : absl::StrCat(Short(Median(sample.us)), " / ", Short(P95(sample.us)));
      absl::StrAppendFormat(&line, " %17s", cell);
    }
    AppendLine(std::move(line), table);
  }
}

void AppendRatios(const std::vector<Row>& rows, std::string* table) {
  AppendLine("times faster: than cold / than libsvm", table);
  AppendLine(OpTitles(), table);
  for (const Row& row : rows) {
    std::string line = Key(row);
    for (const Op op : kOps) {
      const Sample& sample = row.Of(op);
      std::string cell = "-";
      if (!sample.us.empty()) {
        const double median = Median(sample.us);
        cell = absl::StrCat(Short(row.cold_us / median), " / ", OrDash(row.libsvm_us, 1 / median));
      }
      absl::StrAppendFormat(&line, " %17s", cell);
    }
    AppendLine(std::move(line), table);
  }
}

}  // namespace

std::string FormatTables(const std::vector<Row>& rows, Clock clock, bool has_libsvm) {
  std::string table = kLegend;
  table += clock == Clock::kWall ? "times       as a caller sees them\n"
                                 : "times       of the processor, without what other programs took\n";
  if (!has_libsvm) table += "NO LIBSVM in this build: configure with EXPUNGE_BUILD_BENCH (preset release)\n";
  table += "\n";
  AppendMemories(rows, &table);
  table += "\n";
  AppendTimes(rows, &table);
  table += "\n";
  AppendRatios(rows, &table);
  return table;
}

std::string FormatJson(const std::vector<Row>& rows, Clock clock) {
  nlohmann::json array = nlohmann::json::array();
  for (const Row& row : rows) {
    for (const Op op : kOps) {
      const Sample& sample = row.Of(op);
      if (sample.us.empty()) continue;
      nlohmann::json object = {{"data", ShapeName(row.setting)},
                               {"n", row.setting.n},
                               {"c", BoxValue(row.setting)},
                               {"c_name", BoxName(row.setting)},
                               {"op", Name(op)},
                               {"margin", row.margin},
                               {"error", row.error},
                               {"median_us", Median(sample.us)},
                               {"p95_us", P95(sample.us)},
                               {"cold_us", row.cold_us},
                               {"libsvm_us", nullptr},
                               {"baseline_c", row.baseline_c},
                               {"floor_us", row.floor_us},
                               {"iterations", PerCall(sample.iterations, sample)},
                               {"set_changes", PerCall(sample.set_changes, sample)},
                               {"repetitions", sample.us.size()},
                               {"bytes_per_token", row.bytes_per_token},
                               {"bits_equal", row.bits_equal},
                               {"fallbacks", row.fallbacks},
                               {"clock", clock == Clock::kWall ? "wall" : "thread"}};
      if (row.libsvm_us.has_value()) object["libsvm_us"] = *row.libsvm_us;
      array.push_back(std::move(object));
    }
  }
  return array.dump(2) + "\n";
}

}  // namespace expunge::bench
