// The times that flat_index.py wrote.
#ifndef EXPUNGE_BENCH_READOUT_FLAT_INDEX_H_
#define EXPUNGE_BENCH_READOUT_FLAT_INDEX_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/readout/measurement.h"

namespace expunge::bench {

class FlatIndexTimes {
 public:
  FlatIndexTimes() = default;  // none
  // Returns: InvalidArgument if there is no such file, or something else in it.
  [[nodiscard]] static absl::StatusOr<FlatIndexTimes> Load(const std::string& file);

  // Microseconds a query.
  [[nodiscard]] std::optional<double> Of(const Setting& setting) const;

 private:
  struct Search {
    Setting setting;
    double us;
  };
  std::vector<Search> searches_;
};

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_READOUT_FLAT_INDEX_H_
