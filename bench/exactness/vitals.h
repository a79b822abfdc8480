// Hours of intensive-care stays as keys.
#ifndef EXPUNGE_BENCH_EXACTNESS_VITALS_H_
#define EXPUNGE_BENCH_EXACTNESS_VITALS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace expunge::bench {

inline constexpr size_t kHours = 40;

// The hours of one stay: kHours keys. Each column is standardised over these hours (mean 0, variance 1, the
// mean of squares divided by kHours); a constant column becomes 0.
using Stay = std::vector<std::vector<double>>;

// The first kHours hours of every stay that has as many, in the order of the file. `path` is a CSV file with
// a header; its first two columns are the stay and the hour, the others numbers. Returns: NotFound if there
// is no such file; InvalidArgument, naming the line, for anything that does not fit.
[[nodiscard]] absl::StatusOr<std::vector<Stay>> ReadStays(const std::string& path);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_EXACTNESS_VITALS_H_
