// Standardised keys: z = (x - mean) / deviation, column by column, with numbers that can be stored and
// applied again.
//
// The deviation is that of the whole set (divided by n). A column that does not vary gets deviation 1, so it
// becomes 0. The numbers are part of what a memory's keys mean: queries must be standardised by the same
// ones. Stored as JSON, in which every double reads back as the same bits.
#ifndef EXPUNGE_CLIENT_CLI_STANDARDIZATION_H_
#define EXPUNGE_CLIENT_CLI_STANDARDIZATION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/vectors.h"

namespace expunge::cli {

// Invariant: columns, mean and deviation have the same size; every number is finite; every deviation is > 0.
struct Standardization {
  std::vector<std::string> columns;
  std::vector<double> mean;
  std::vector<double> deviation;
  size_t rows = 0;  // over which the numbers were computed
  // What the elements of a value mean, such as "diagnosis=benign".
  std::vector<std::string> value_labels;
  // Of a one-hot value: its column and categories, in the order of the elements; empty otherwise.
  std::string one_hot_column;
  std::vector<std::string> categories;
};

// Mean and deviation of each column of `keys`, in two passes in the order of the rows.
// REQUIRES: keys.columns == columns.size(); keys.rows >= 1.
// Returns: a UsageFailure naming the column whose numbers overflow. Cost: O(rows columns).
[[nodiscard]] absl::StatusOr<Standardization> ComputeStandardization(std::vector<std::string> columns,
                                                                     const client::Matrix& keys);

// Applies it in place. REQUIRES: keys->columns == mean.size().
// Returns: a UsageFailure with the row whose result is not finite.
[[nodiscard]] absl::Status Standardize(const Standardization& numbers, client::Matrix* keys);

[[nodiscard]] std::string ToJson(const Standardization& numbers);

// Returns: a UsageFailure for anything that ToJson would not have written.
[[nodiscard]] absl::StatusOr<Standardization> StandardizationFromJson(absl::string_view text);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_STANDARDIZATION_H_
