#include "bench/readout/flat_index.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace expunge::bench {

absl::StatusOr<FlatIndexTimes> FlatIndexTimes::Load(const std::string& file) {
  std::ifstream in(file);
  FlatIndexTimes times;
  try {
    const nlohmann::json json = nlohmann::json::parse(in);
    for (const nlohmann::json& search : json.at("searches")) {
      times.searches_.push_back(
          {{search.at("support"), search.at("dimension"), search.at("queries")}, search.at("us")});
    }
  } catch (const nlohmann::json::exception&) {
    return absl::InvalidArgumentError(absl::StrCat(file, " was not written by bench/readout/flat_index.py"));
  }
  return times;
}

std::optional<double> FlatIndexTimes::Of(const Setting& setting) const {
  for (const Search& search : searches_) {
    if (search.setting.support == setting.support && search.setting.dimension == setting.dimension &&
        search.setting.queries == setting.queries)
      return search.us;
  }
  return std::nullopt;
}

}  // namespace expunge::bench
