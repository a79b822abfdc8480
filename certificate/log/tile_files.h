// Files of a tile directory, read and replaced. For use inside this folder only.
#ifndef EXPUNGE_CERTIFICATE_LOG_TILE_FILES_H_
#define EXPUNGE_CERTIFICATE_LOG_TILE_FILES_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace expunge::certificate {

// Makes the folder `path` and those above it, mode 0755, where they are not there. `sync`: durable, each name
// in its folder. Returns: kStorageFailed.
[[nodiscard]] absl::Status MakeFolders(const std::string& path, bool sync);

// Replaces the file `path`, mode 0644, all at once: under another name first, then renamed. `sync`: durable.
// Returns: kStorageFailed; the file is then as it was.
[[nodiscard]] absl::Status ReplaceFile(const std::string& path, absl::string_view contents, bool sync);

// Returns: NotFound; kStorageFailed; InvalidArgument if there are more than `max_bytes`.
[[nodiscard]] absl::StatusOr<std::string> ReadWholeFile(const std::string& path, size_t max_bytes);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_LOG_TILE_FILES_H_
