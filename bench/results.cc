#include "bench/results.h"

#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace expunge::bench {

namespace fs = std::filesystem;

fs::path FindRepository() {
  std::error_code error;
  fs::path start = fs::current_path(error);
  for (fs::path at = start; !at.empty(); at = at.parent_path()) {
    if (fs::exists(at / "dev", error) && fs::exists(at / "CMakePresets.json", error)) return at;
    if (at == at.root_path()) break;
  }
  return start;
}

absl::StatusOr<std::string> WriteResults(const std::string& out, const std::string& name,
                                         const std::string& json) {
  const fs::path path = out.empty() ? FindRepository() / "out" / (name + ".json") : fs::path(out);
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  std::ofstream file(path);
  file << json;
  file.close();
  if (file.fail()) return absl::UnavailableError(absl::StrCat("cannot write ", path.string()));
  return path.string();
}

}  // namespace expunge::bench
