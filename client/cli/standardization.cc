#include "client/cli/standardization.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/failure.h"
#include "nlohmann/json.hpp"

namespace expunge::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "expunge standardization v1";

bool IsConsistent(const Standardization& numbers) {
  const size_t size = numbers.columns.size();
  if (size == 0 || numbers.mean.size() != size || numbers.deviation.size() != size) return false;
  for (size_t i = 0; i < size; ++i) {
    if (!std::isfinite(numbers.mean[i]) || !std::isfinite(numbers.deviation[i]) ||
        numbers.deviation[i] <= 0) {
      return false;
    }
  }
  return numbers.one_hot_column.empty() == numbers.categories.empty();
}

}  // namespace

absl::StatusOr<Standardization> ComputeStandardization(std::vector<std::string> columns,
                                                       const client::Matrix& keys) {
  Standardization numbers;
  numbers.columns = std::move(columns);
  numbers.rows = keys.rows;
  const auto n = static_cast<double>(keys.rows);
  for (size_t column = 0; column < keys.columns; ++column) {
    double sum = 0;
    bool varies = false;
    for (size_t row = 0; row < keys.rows; ++row) {
      sum += keys.Row(row)[column];
      varies = varies || keys.Row(row)[column] != keys.Row(0)[column];
    }
    // The rounded mean of equal numbers need not be that number: it would leave a deviation of rounding
    // errors.
    const double mean = varies ? sum / n : keys.Row(0)[column];
    double squares = 0;
    for (size_t row = 0; row < keys.rows; ++row) {
      const double difference = keys.Row(row)[column] - mean;
      squares += difference * difference;
    }
    const double deviation = std::sqrt(squares / n);
    if (!std::isfinite(mean) || !std::isfinite(deviation)) {
      return UsageFailure(
          absl::StrCat("column '", numbers.columns[column], "': the numbers are too large to standardise"),
          "use smaller units");
    }
    numbers.mean.push_back(mean);
    numbers.deviation.push_back(deviation > 0 ? deviation : 1.0);
  }
  return numbers;
}

absl::Status Standardize(const Standardization& numbers, client::Matrix* keys) {
  for (size_t i = 0; i < keys->data.size(); ++i) {
    const size_t column = i % keys->columns;
    keys->data[i] = (keys->data[i] - numbers.mean[column]) / numbers.deviation[column];
    if (!std::isfinite(keys->data[i])) {
      return UsageFailure(absl::StrCat("column '", numbers.columns[column], "' of chosen row ",
                                       i / keys->columns + 1, " is too large to standardise"),
                          "use smaller units");
    }
  }
  return absl::OkStatus();
}

std::string ToJson(const Standardization& numbers) {
  Json json;
  json["format"] = kFormat;
  json["rule"] =
      "z = (x - mean) / deviation; deviation over all rows (divided by n), 1 where a column does not vary";
  json["rows"] = numbers.rows;
  json["key_columns"] = numbers.columns;
  json["mean"] = numbers.mean;
  json["deviation"] = numbers.deviation;
  json["value_labels"] = numbers.value_labels;
  json["one_hot_column"] = numbers.one_hot_column;
  json["categories"] = numbers.categories;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<Standardization> StandardizationFromJson(absl::string_view text) {
  const char hint[] = "it must be a file that 'expunge import --standardize --standardization FILE' wrote";
  Standardization numbers;
  try {
    const Json json = Json::parse(text.begin(), text.end());
    if (json.at("format").get<std::string>() != kFormat) return UsageFailure("an unknown format", hint);
    json.at("rows").get_to(numbers.rows);
    json.at("key_columns").get_to(numbers.columns);
    json.at("mean").get_to(numbers.mean);
    json.at("deviation").get_to(numbers.deviation);
    json.at("value_labels").get_to(numbers.value_labels);
    json.at("one_hot_column").get_to(numbers.one_hot_column);
    json.at("categories").get_to(numbers.categories);
  } catch (const nlohmann::json::exception&) {
    return UsageFailure("not a standardisation file", hint);
  }
  if (!IsConsistent(numbers)) return UsageFailure("its numbers contradict each other", hint);
  return numbers;
}

}  // namespace expunge::cli
