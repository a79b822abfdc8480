// Whole files, read and written.
#ifndef EXPUNGE_CLIENT_VERIFY_FILES_H_
#define EXPUNGE_CLIENT_VERIFY_FILES_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace expunge::verify {

// The bytes of `path`, but no more than the first `max_bytes`. Returns: Unavailable with the system's words.
[[nodiscard]] absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes);

// Replaces the contents of `path`. Returns: Unavailable with the system's words.
[[nodiscard]] absl::Status WriteFile(const std::string& path, absl::string_view bytes);

}  // namespace expunge::verify

#endif  // EXPUNGE_CLIENT_VERIFY_FILES_H_
