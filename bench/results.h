// Where the benchmarks' own programs put their results.
#ifndef EXPUNGE_BENCH_RESULTS_H_
#define EXPUNGE_BENCH_RESULTS_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace expunge::bench {

// The root of the checkout that the working directory lies in, or the working directory.
[[nodiscard]] std::filesystem::path FindRepository();

// Writes `json` to the file `out` or, if that is empty, to out/NAME.json in the repository, and returns the
// path. Returns: Unavailable if the file cannot be written.
[[nodiscard]] absl::StatusOr<std::string> WriteResults(const std::string& out, const std::string& name,
                                                       const std::string& json);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_RESULTS_H_
