// Bytes: fixed-width digests, hexadecimal, base64, and little-endian encoding for hashed and stored records.
#ifndef EXPUNGE_BASE_BYTES_H_
#define EXPUNGE_BASE_BYTES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace expunge {

// 32 bytes: a SHA-256 or HMAC-SHA256 value, a salt or a key.
using Digest = std::array<uint8_t, 32>;

// The same bytes as a string view; valid while `digest` lives.
[[nodiscard]] inline absl::string_view AsView(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// nullopt unless `bytes` has exactly 32 of them.
[[nodiscard]] std::optional<Digest> DigestFromBytes(absl::string_view bytes);

// Lower-case hexadecimal.
[[nodiscard]] std::string ToHex(absl::string_view bytes);

// nullopt unless `hex` is an even number of lower-case hexadecimal digits.
[[nodiscard]] std::optional<std::string> FromHex(absl::string_view hex);

// Standard base64 with padding (RFC 4648, section 4).
[[nodiscard]] std::string ToBase64(absl::string_view bytes);

// nullopt unless `text` is the one canonical encoding of some bytes: no white space, no url-safe alphabet,
// right padding.
[[nodiscard]] std::optional<std::string> FromBase64(absl::string_view text);

// Appends to `*out`: an unsigned integer, or the IEEE 754 bits of a double, in little-endian order.
void AppendU32(uint32_t value, std::string* out);
void AppendU64(uint64_t value, std::string* out);
void AppendDouble(double value, std::string* out);
// A 64-bit length, then the bytes: no two sequences of fields encode alike.
void AppendField(absl::string_view bytes, std::string* out);

// What AppendU64 appended, at the beginning of `bytes`. REQUIRES: at least 8 of them.
[[nodiscard]] uint64_t ReadU64(absl::string_view bytes);

}  // namespace expunge

#endif  // EXPUNGE_BASE_BYTES_H_
