// The PIN of a token, from a file.
#ifndef EXPUNGE_STORAGE_TOKEN_PIN_H_
#define EXPUNGE_STORAGE_TOKEN_PIN_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/secret.h"

namespace expunge::storage {

// A line feed at the end doesn't belong to the PIN. Returns: as ReadPrivateFile; InvalidArgument if the file
// holds something else than a PIN.
[[nodiscard]] absl::StatusOr<SecretBytes> ReadTokenPin(const std::string& path);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_TOKEN_PIN_H_
