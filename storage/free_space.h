// How much room a disk has.
#ifndef EXPUNGE_STORAGE_FREE_SPACE_H_
#define EXPUNGE_STORAGE_FREE_SPACE_H_

#include <rocksdb/env.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace expunge::storage {

// Free bytes of the file system that `folder` lies on; UINT64_MAX if that doesn't say.
// Returns: kStorageFailed.
[[nodiscard]] absl::StatusOr<uint64_t> FreeSpace(rocksdb::Env* env, const std::string& folder);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_FREE_SPACE_H_
