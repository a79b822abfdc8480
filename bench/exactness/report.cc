#include "bench/exactness/report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace expunge::bench {
namespace {

constexpr char kLegend[] =
    "trials      histories of a memory: a build with deletions, one order of insertion, or a stream of 64 "
    "operations\n"
    "completed   every operation succeeded\n"
    "partition   completed with the classes of a memory that never held what was deleted\n"
    "bits        ... and with all of its bits: classes, weights, rho (fingerprints equal)\n"
    "higher      trials in which a proof needed more than double-double arithmetic\n"
    "ties        trials with an exact equality\n"
    "fallbacks   calls of the reference solver\n"
    "worst       largest deviation of a weight or a readout; 0 where the bits are equal\n"
    "decay       median deviation of readouts if weights are multiplied by 0.01 instead of solving again\n"
    "paper       V. Ramesh, arXiv 2607.12204: completed, partition equal, worst deviation\n";

// "100 %" only if all are; rounded down otherwise.
std::string Percent(uint64_t part, uint64_t whole) {
  if (part == whole) return "100 %";
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
  return absl::StrFormat("%.2f %%", std::floor(percent * 100) / 100);
}

std::optional<double> Median(std::vector<double> numbers) {
  if (numbers.empty()) return std::nullopt;
  const auto middle = numbers.begin() + static_cast<ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  const double upper = *middle;
  if (numbers.size() % 2 == 1) return upper;
  return (*std::max_element(numbers.begin(), middle) + upper) / 2;
}

std::string Small(double x) { return x == 0 ? "0" : absl::StrFormat("%.1e", x); }

}  // namespace

bool Passed(const Row& row) {
  const Findings& f = row.findings;
  return f.trials > 0 && f.completed == f.trials && f.bits_equal == f.trials && f.fallbacks == 0;
}

std::string FormatTable(const std::vector<Row>& rows) {
  std::string table = absl::StrCat(kLegend, "\n");
  absl::StrAppendFormat(&table, "%-21s %9s %9s %9s %8s %8s %8s %9s %8s %8s | %9s %9s %7s\n", "regime",
                        "trials", "completed", "partition", "bits", "higher", "ties", "fallbacks", "worst",
                        "decay", "paper:", "partition", "worst");
  for (const Row& row : rows) {
    const Findings& f = row.findings;
    const std::optional<double> decay = Median(f.decays);
    const PaperFigures paper = row.regime->paper.value_or(PaperFigures{});
    absl::StrAppendFormat(&table, "%-21s %9d %9d %9s %8s %8d %8d %9d %8s %8s | %9s %9s %7s\n",
                          row.regime->name, f.trials, f.completed, Percent(f.partition_equal, f.trials),
                          Percent(f.bits_equal, f.trials), f.higher_precision, f.ties, f.fallbacks,
                          Small(f.worst_deviation), decay.has_value() ? Small(*decay) : "-", paper.completed,
                          paper.partition_equal, paper.worst_deviation);
    absl::StripTrailingAsciiWhitespace(&table);
    table += "\n";
  }
  return table;
}

std::string FormatJson(const std::vector<Row>& rows, uint64_t seed) {
  nlohmann::json array = nlohmann::json::array();
  for (const Row& row : rows) {
    const Findings& f = row.findings;
    const std::optional<double> decay = Median(f.decays);
    nlohmann::json object = {{"regime", row.regime->name},
                             {"trials", f.trials},
                             {"completed", f.completed},
                             {"partition_equal", f.partition_equal},
                             {"bits_equal", f.bits_equal},
                             {"higher_precision", f.higher_precision},
                             {"ties", f.ties},
                             {"fallbacks", f.fallbacks},
                             {"worst_deviation", f.worst_deviation},
                             {"decay_median", nullptr},
                             {"states_compared", f.comparisons},
                             {"seed", seed}};
    if (decay.has_value()) object["decay_median"] = *decay;
    if (row.regime->paper.has_value()) {
      object["paper"] = {{"completed", row.regime->paper->completed},
                         {"partition_equal", row.regime->paper->partition_equal},
                         {"worst_deviation", row.regime->paper->worst_deviation}};
    }
    array.push_back(std::move(object));
  }
  return array.dump(2) + "\n";
}

}  // namespace expunge::bench
