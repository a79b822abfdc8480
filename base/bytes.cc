#include "base/bytes.h"

#include <algorithm>
#include <bit>

#include "absl/strings/escaping.h"

namespace expunge {

std::optional<Digest> DigestFromBytes(absl::string_view bytes) {
  Digest digest;
  if (bytes.size() != digest.size()) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

std::string ToHex(absl::string_view bytes) { return absl::BytesToHexString({bytes.data(), bytes.size()}); }

std::optional<std::string> FromHex(absl::string_view hex) {
  const bool digits = std::all_of(hex.begin(), hex.end(),
                                  [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (!digits || hex.size() % 2 != 0) return std::nullopt;
  return absl::HexStringToBytes({hex.data(), hex.size()});
}

std::string ToBase64(absl::string_view bytes) { return absl::Base64Escape({bytes.data(), bytes.size()}); }

std::optional<std::string> FromBase64(absl::string_view text) {
  std::string bytes;
  if (!absl::Base64Unescape({text.data(), text.size()}, &bytes)) return std::nullopt;
  if (ToBase64(bytes) != text) return std::nullopt;
  return bytes;
}

void AppendU32(uint32_t value, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(value >> shift & 0xff));
}

void AppendU64(uint64_t value, std::string* out) {
  for (int shift = 0; shift < 64; shift += 8) out->push_back(static_cast<char>(value >> shift & 0xff));
}

void AppendDouble(double value, std::string* out) { AppendU64(std::bit_cast<uint64_t>(value), out); }

void AppendField(absl::string_view bytes, std::string* out) {
  AppendU64(bytes.size(), out);
  out->append(bytes.data(), bytes.size());
}

uint64_t ReadU64(absl::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = sizeof(value); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace expunge
