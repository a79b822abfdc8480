#include "storage/free_space.h"

#include <limits>

#include "base/status_macros.h"
#include "storage/rocks_status.h"

namespace expunge::storage {

absl::StatusOr<uint64_t> FreeSpace(rocksdb::Env* env, const std::string& folder) {
  uint64_t free = 0;
  const rocksdb::Status known = env->GetFreeSpace(folder, &free);
  if (known.IsNotSupported()) return std::numeric_limits<uint64_t>::max();
  EXPUNGE_RETURN_IF_ERROR(FromRocks(known, "find out how much space is free"));
  return free;
}

}  // namespace expunge::storage
