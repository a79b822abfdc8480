#include "storage/restore_marker.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "storage/file_copy.h"

namespace expunge::storage {
namespace {

constexpr uint64_t kMostBytes = 64 << 10;

absl::StatusOr<bool> MarkerExists(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return SystemError(errno, "examine", path);
}

std::optional<RestoreMarker> Decode(const std::string& text) {
  const auto value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return std::nullopt;
  const auto found = value.find("vault_directory");
  if (found == value.end() || !found->is_string()) return std::nullopt;
  return RestoreMarker{found->get<std::string>()};
}

}  // namespace

std::string RestoreMarkerPath(const std::string& directory) { return absl::StrCat(directory, "/restoring"); }

absl::StatusOr<std::optional<RestoreMarker>> ReadRestoreMarker(const std::string& directory) {
  const std::string path = RestoreMarkerPath(directory);
  EXPUNGE_ASSIGN_OR_RETURN(const bool exists, MarkerExists(path));
  if (!exists) return std::optional<RestoreMarker>();
  EXPUNGE_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMostBytes));
  std::optional<RestoreMarker> marker = Decode(text);
  if (marker.has_value()) return marker;
  return MakeError(Reason::kStorageCorrupt, "",
                   absl::StrCat("the marker of an interrupted restore, ", path,
                                ", is unreadable: remove the directory, and its vault's, and restore again"));
}

absl::Status WriteRestoreMarker(const std::string& directory, const RestoreMarker& marker) {
  const nlohmann::json value = {{"vault_directory", marker.vault_directory}};
  return CreateDurably(RestoreMarkerPath(directory),
                       value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

absl::Status RemoveRestoreMarker(const std::string& directory) {
  const std::string path = RestoreMarkerPath(directory);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return SystemError(errno, "remove", path);
  return SyncFolder(directory);
}

absl::Status CheckNoRestore(const std::string& directory) {
  EXPUNGE_ASSIGN_OR_RETURN(const bool exists, MarkerExists(RestoreMarkerPath(directory)));
  if (!exists) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("a restore into ", directory, " was interrupted: run it again before the data is served"));
}

}  // namespace expunge::storage
