#include "certificate/log/tile_files.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/durable_file.h"

namespace expunge::certificate {
namespace {

constexpr mode_t kFolderMode = 0755;

}  // namespace

absl::Status MakeFolders(const std::string& path, bool sync) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) {
    return S_ISDIR(found.st_mode) ? absl::OkStatus() : SystemError(ENOTDIR, "use", path);
  }
  const std::string above = FolderOf(path);
  if (above == path) return SystemError(errno, "use", path);
  if (absl::Status made = MakeFolders(above, sync); !made.ok()) return made;
  if (::mkdir(path.c_str(), kFolderMode) != 0) return SystemError(errno, "make", path);
  if (::chmod(path.c_str(), kFolderMode) != 0) return SystemError(errno, "set the mode of", path);
  return sync ? SyncFolder(above) : absl::OkStatus();
}

}  // namespace expunge::certificate
