// The master key, under which the vault's tenant keys lie, from a file.
#ifndef EXPUNGE_STORAGE_MASTER_KEY_H_
#define EXPUNGE_STORAGE_MASTER_KEY_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/secret.h"

namespace expunge::storage {

// Reads the file (32 bytes in lower-case hexadecimal, and a line feed), or makes it if it is absent and
// `may_create` says so: mode 0600, all at once, synced with its directory before the key is used.
// Returns: NotFound (absent, and it may not be made: the message says that without the key the data cannot be
// read); PermissionDenied if it is no regular file, belongs to neither this process's user nor root, or
// others may read it; InvalidArgument if its content has another form; Unavailable (kStorageFailed) as the
// system reports. No message has content of the file.
[[nodiscard]] absl::StatusOr<SecretKey> LoadMasterKey(const std::string& path, bool may_create);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_MASTER_KEY_H_
