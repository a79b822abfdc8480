// The forms of single values in a payload. For use inside this folder only.
#ifndef EXPUNGE_CERTIFICATE_FORMS_H_
#define EXPUNGE_CERTIFICATE_FORMS_H_

#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/time/time.h"
#include "base/bytes.h"

namespace expunge::certificate {

inline constexpr size_t kMaxTextBytes = 4096;
inline constexpr size_t kMaxNonceBytes = 64;

// 1 to kMaxTextBytes of printable ASCII, and the same or nothing.
[[nodiscard]] bool IsText(const nlohmann::json& value);
[[nodiscard]] bool IsTextOrEmpty(const nlohmann::json& value);
// 32 bytes, and at most kMaxNonceBytes, in lower-case hexadecimal.
[[nodiscard]] bool IsDigest(const nlohmann::json& value);
[[nodiscard]] bool IsNonce(const nlohmann::json& value);
// A 64-bit unsigned integer in decimal, without leading zeros; the same, but not 0.
[[nodiscard]] bool IsCount(const nlohmann::json& value);
[[nodiscard]] bool IsPositiveCount(const nlohmann::json& value);
// A C hex-float: 0 or more, infinity included; more than 0 and finite. Never -0.
[[nodiscard]] bool IsBound(const nlohmann::json& value);
[[nodiscard]] bool IsPositiveFinite(const nlohmann::json& value);
// "2026-01-31T12:00:00Z"; the same, or "".
[[nodiscard]] bool IsTime(const nlohmann::json& value);
[[nodiscard]] bool IsTimeOrEmpty(const nlohmann::json& value);
[[nodiscard]] bool IsBool(const nlohmann::json& value);
// "S", "E" or "R".
[[nodiscard]] bool IsClass(const nlohmann::json& value);

// The number. REQUIRES: IsCount(value).
[[nodiscard]] uint64_t CountOf(const nlohmann::json& value);
// The 32 bytes. REQUIRES: IsDigest(value).
[[nodiscard]] Digest DigestOf(const nlohmann::json& value);
// REQUIRES: IsTime(value).
[[nodiscard]] absl::Time TimeOf(const nlohmann::json& value);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_FORMS_H_
