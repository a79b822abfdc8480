#include "bench/solver/summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace expunge::bench {
namespace {

enum class Baseline { kCold, kLibsvm };

// A number of one configuration.
struct Figure {
  double value = 0;
  const Row* row = nullptr;
};
using Figures = std::vector<Figure>;

double MedianOf(const Figures& figures) {
  std::vector<double> values;
  for (const Figure& figure : figures) values.push_back(figure.value);
  return Median(std::move(values));
}

bool Less(const Figure& a, const Figure& b) { return a.value < b.value; }

// How many times faster `op` is at this n, for each configuration that has both numbers.
Figures TimesFaster(const std::vector<Row>& rows, int64_t n, Op op, Baseline baseline) {
  Figures figures;
  for (const Row& row : rows) {
    const Sample& sample = row.Of(op);
    const std::optional<double> other = baseline == Baseline::kCold ? row.cold_us : row.libsvm_us;
    if (row.setting.n == n && !sample.us.empty() && other.has_value())
      figures.push_back({*other / Median(sample.us), &row});
  }
  return figures;
}

// P95 over median.
Figures Spreads(const std::vector<Row>& rows, Op op) {
  Figures figures;
  for (const Row& row : rows) {
    const Sample& sample = row.Of(op);
    if (!sample.us.empty()) figures.push_back({P95(sample.us) / Median(sample.us), &row});
  }
  return figures;
}

// "143, least 62.1 (clustered, n 10000, C 1/2)".
std::string MedianAndLeast(const Figures& figures) {
  if (figures.empty()) return "-";
  const Figure least = *std::min_element(figures.begin(), figures.end(), Less);
  return absl::StrFormat("%.0f, least %.0f (%s, C %s)", MedianOf(figures), least.value,
                         ShapeName(least.row->setting), BoxName(least.row->setting));
}

void AppendRatios(const std::vector<Row>& rows, std::string* text) {
  std::set<int64_t> sizes;
  for (const Row& row : rows) sizes.insert(row.setting.n);
  absl::StrAppendFormat(text, "times faster, median over data and C:\n%-6s %-15s %-40s %s\n", "n", "",
                        "than cold", "than libsvm");
  for (const int64_t n : sizes) {
    for (const Op op : kOps) {
      std::string line = absl::StrFormat("%-6d %-15s %-40s %s", n, Name(op),
                                         MedianAndLeast(TimesFaster(rows, n, op, Baseline::kCold)),
                                         MedianAndLeast(TimesFaster(rows, n, op, Baseline::kLibsvm)));
      absl::StripTrailingAsciiWhitespace(&line);
      absl::StrAppend(text, line, "\n");
    }
  }
}

void AppendSpreads(const std::vector<Row>& rows, std::string* text) {
  absl::StrAppend(text, "\nworst p95 / median:\n");
  for (const Op op : kOps) {
    const Figures spreads = Spreads(rows, op);
    if (spreads.empty()) continue;
    const Figure worst = *std::max_element(spreads.begin(), spreads.end(), Less);
    absl::StrAppendFormat(text, "%-15s %.1f (%s)\n", Name(op), worst.value, Describe(worst.row->setting));
  }
}

// The least-squares slope of log y over log x; nothing for fewer than two different x.
std::optional<double> Slope(const std::vector<std::pair<double, double>>& points) {
  double mean_x = 0;
  double mean_y = 0;
  const auto count = static_cast<double>(points.size());
  for (const auto& [x, y] : points) {
    mean_x += std::log(x) / count;
    mean_y += std::log(y) / count;
  }
  double xx = 0;
  double xy = 0;
  for (const auto& [x, y] : points) {
    xx += (std::log(x) - mean_x) * (std::log(x) - mean_x);
    xy += (std::log(x) - mean_x) * (std::log(y) - mean_y);
  }
  if (xx == 0) return std::nullopt;
  return xy / xx;
}

void AppendGrowth(const std::vector<Row>& rows, std::string* text) {
  std::map<std::string, std::vector<std::pair<double, double>>> deletions;
  std::map<std::string, std::vector<std::pair<double, double>>> colds;
  for (const Row& row : rows) {
    const std::string key = absl::StrFormat("%-9s %-8s", ShapeName(row.setting), BoxName(row.setting));
    const auto n = static_cast<double>(row.setting.n);
    const Sample& sample = row.Of(Op::kDeleteMargin);
    if (sample.us.empty()) continue;
    deletions[key].emplace_back(n, Median(sample.us));
    colds[key].emplace_back(n, row.cold_us);
  }
  std::string lines;
  for (const auto& [key, points] : deletions) {
    const std::optional<double> slope = Slope(points);
    if (!slope.has_value()) continue;
    absl::StrAppendFormat(&lines, "%s %5.2f %5.2f\n", key, *slope, *Slope(colds[key]));
  }
  if (!lines.empty())
    absl::StrAppend(text, "\ngrowth with n (slope of log time over log n): delete_margin, cold\n", lines);
}

// One target: `at_least` decides on which side of `limit` figures should be; `every`: each of them, not only
// their median.
struct Target {
  std::string text;
  Figures figures;
  double limit = 0;
  bool at_least = true;
  bool every = false;
};

void AppendTarget(const Target& target, std::string* text) {
  if (target.figures.empty()) {
    absl::StrAppend(text, "not run  ", target.text, "\n");
    return;
  }
  const auto good = [&](double x) { return target.at_least ? x >= target.limit : x <= target.limit; };
  const auto [least, most] = std::minmax_element(target.figures.begin(), target.figures.end(), Less);
  const double worst = target.at_least ? least->value : most->value;
  const double value = target.every ? worst : MedianOf(target.figures);
  const int decimals = target.limit < 10 ? 2 : 0;
  absl::StrAppendFormat(text, "%s  %s: %.*f\n", good(value) ? "reached" : "MISSED ", target.text, decimals,
                        value);
  if (good(value)) return;
  for (const Figure& figure : target.figures) {
    if (!good(figure.value))
      absl::StrAppendFormat(text, "           %.*f at %s\n", decimals, figure.value,
                            Describe(figure.row->setting));
  }
}

void AppendTargets(const std::vector<Row>& rows, std::string* text) {
  const auto against = [&rows](int64_t n, Op op, Baseline baseline) {
    return TimesFaster(rows, n, op, baseline);
  };
  absl::StrAppend(text, "\ntargets:\n");
  const Op margin = Op::kDeleteMargin;
  const Op error = Op::kDeleteError;
  std::vector<Target> targets = {
      {"delete_margin, n 1000, 30 times faster than cold (median)", against(1000, margin, Baseline::kCold),
       30},
      {"delete_margin, n 10000, 100 times faster than cold (median)", against(10000, margin, Baseline::kCold),
       100},
      {"delete_margin, n 10000, 60 times faster than cold (each)", against(10000, margin, Baseline::kCold),
       60, true, true},
      {"delete_margin, n 100000, 100 times faster than cold (median)",
       against(100000, margin, Baseline::kCold), 100},
      {"delete_margin, n 10000, 150 times faster than libsvm (median)",
       against(10000, margin, Baseline::kLibsvm), 150},
      {"delete_error, n 10000, 20 times faster than cold (median)", against(10000, error, Baseline::kCold),
       20},
      {"delete_error, n 10000, 100 times faster than libsvm (median)",
       against(10000, error, Baseline::kLibsvm), 100},
  };
  for (const Op op : kOps)
    targets.push_back(
        {absl::StrCat(Name(op), ", p95 at most 4 medians (each)"), Spreads(rows, op), 4, false, true});
  for (const Target& target : targets) AppendTarget(target, text);
}

}  // namespace

std::string FormatSummary(const std::vector<Row>& rows) {
  std::string text;
  AppendRatios(rows, &text);
  AppendSpreads(rows, &text);
  AppendGrowth(rows, &text);
  AppendTargets(rows, &text);
  return text;
}

}  // namespace expunge::bench
