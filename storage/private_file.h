// Small files with secrets: a master key, a PIN.
#ifndef EXPUNGE_STORAGE_PRIVATE_FILE_H_
#define EXPUNGE_STORAGE_PRIVATE_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/secret.h"

namespace expunge::storage {

// The bytes of the file, or its first `limit` + 1 if it has more. `what` is its name in messages, such as
// "the master key". Returns: NotFound if there is none; PermissionDenied if it is no regular file, belongs to
// neither this process's user nor root, or others may read it; Unavailable (kStorageFailed) as the system
// reports. No message has content of the file.
[[nodiscard]] absl::StatusOr<SecretBytes> ReadPrivateFile(absl::string_view what, const std::string& path,
                                                          size_t limit);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_PRIVATE_FILE_H_
