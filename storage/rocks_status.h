// RocksDB's outcomes in the project's words.
#ifndef EXPUNGE_STORAGE_ROCKS_STATUS_H_
#define EXPUNGE_STORAGE_ROCKS_STATUS_H_

#include <rocksdb/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace expunge::storage {

// OK for OK. Returns: NotFound; DataLoss (kStorageCorrupt) for a failed checksum or a contradiction;
// Unavailable (kStorageFailed) for everything else. The message says what was being done (`doing`, such as
// "read a record") and RocksDB's own words, which name files and numbers but, as keys are handles, nothing
// personal.
[[nodiscard]] absl::Status FromRocks(const rocksdb::Status& status, absl::string_view doing);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_ROCKS_STATUS_H_
