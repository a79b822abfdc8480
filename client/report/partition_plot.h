// The tokens of a memory before and after, by class, as bars of one scale.
#ifndef EXPUNGE_CLIENT_REPORT_PARTITION_PLOT_H_
#define EXPUNGE_CLIENT_REPORT_PARTITION_PLOT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace expunge::report {

// An SVG with bars before, removed and after (of a certificate of state: one), and a table with every number.
// REQUIRES: the predicate is one of a payload that passed CheckPayload.
[[nodiscard]] std::string PartitionPlot(const nlohmann::json& predicate);

}  // namespace expunge::report

#endif  // EXPUNGE_CLIENT_REPORT_PARTITION_PLOT_H_
