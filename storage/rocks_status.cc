#include "storage/rocks_status.h"

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace expunge::storage {

absl::Status FromRocks(const rocksdb::Status& status, absl::string_view doing) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = absl::StrCat("could not ", doing, ": ", status.ToString());
  if (status.IsNotFound()) return absl::NotFoundError(message);
  if (status.IsCorruption()) return MakeError(Reason::kStorageCorrupt, "", message);
  return MakeError(Reason::kStorageFailed, "", message);
}

}  // namespace expunge::storage
