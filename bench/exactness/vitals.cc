#include "bench/exactness/vitals.h"

#include <cmath>
#include <fstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace expunge::bench {
namespace {

void Standardize(Stay* hours) {
  for (size_t k = 0; k < hours->front().size(); ++k) {
    double mean = 0;
    for (const auto& hour : *hours) mean += hour[k];
    mean /= kHours;
    double squares = 0;
    bool constant = true;
    for (const auto& hour : *hours) {
      squares += (hour[k] - mean) * (hour[k] - mean);
      constant = constant && hour[k] == hours->front()[k];
    }
    const double deviation = std::sqrt(squares / kHours);
    for (auto& hour : *hours) hour[k] = constant ? 0.0 : (hour[k] - mean) / deviation;
  }
}

absl::StatusOr<std::vector<double>> ParseHour(const std::vector<std::string>& cells, size_t columns,
                                              size_t line) {
  if (cells.size() != columns || columns < 3) {
    return absl::InvalidArgumentError(absl::StrCat("line ", line, " has ", cells.size(), " cells"));
  }
  std::vector<double> hour(columns - 2);
  for (size_t k = 0; k < hour.size(); ++k) {
    if (!absl::SimpleAtod(cells[k + 2], &hour[k]) || !std::isfinite(hour[k])) {
      return absl::InvalidArgumentError(absl::StrCat("line ", line, ": column ", k + 3, " is no number"));
    }
  }
  return hour;
}

}  // namespace

absl::StatusOr<std::vector<Stay>> ReadStays(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError("cannot be opened");
  std::string text;
  std::getline(file, text);
  const std::vector<std::string> header = absl::StrSplit(text, ',');
  std::vector<Stay> stays;
  std::string name;
  Stay stay;
  const auto finish = [&] {
    if (stay.size() == kHours) {
      Standardize(&stay);
      stays.push_back(stay);
    }
    stay.clear();
  };
  for (size_t line = 2; std::getline(file, text); ++line) {
    const std::vector<std::string> cells = absl::StrSplit(text, ',');
    EXPUNGE_ASSIGN_OR_RETURN(std::vector<double> hour, ParseHour(cells, header.size(), line));
    if (cells[0] != name) finish();
    name = cells[0];
    if (stay.size() < kHours) stay.push_back(std::move(hour));
  }
  finish();
  if (stays.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("no stay has ", kHours, " hours"));
  }
  return stays;
}

}  // namespace expunge::bench
