// The folders of a tile directory. For use inside this folder only.
#ifndef EXPUNGE_CERTIFICATE_LOG_TILE_FILES_H_
#define EXPUNGE_CERTIFICATE_LOG_TILE_FILES_H_

#include <string>

#include "absl/status/status.h"

namespace expunge::certificate {

// Makes the folder `path` and those above it, mode 0755, where they are not there. `sync`: durable, each name
// in its folder. Returns: kStorageFailed.
[[nodiscard]] absl::Status MakeFolders(const std::string& path, bool sync);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_LOG_TILE_FILES_H_
