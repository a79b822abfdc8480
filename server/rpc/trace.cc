#include "server/rpc/trace.h"

#include <algorithm>
#include <cstddef>

#include "base/bytes.h"
#include "base/hash.h"

namespace expunge::rpc {
namespace {

constexpr size_t kVersion00Length = 55;  // 2 + 1 + 32 + 1 + 16 + 1 + 2

bool IsLowerHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsZero(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c == '0'; });
}

}  // namespace

std::optional<std::string> ParseTraceParent(absl::string_view header) {
  if (header.size() < kVersion00Length) return std::nullopt;
  const absl::string_view version = header.substr(0, 2);
  const absl::string_view trace = header.substr(3, 32);
  const absl::string_view parent = header.substr(36, 16);
  const absl::string_view flags = header.substr(53, 2);
  if (header[2] != '-' || header[35] != '-' || header[52] != '-') return std::nullopt;
  if (!IsLowerHex(version) || !IsLowerHex(trace) || !IsLowerHex(parent) || !IsLowerHex(flags))
    return std::nullopt;
  if (version == "ff" || IsZero(trace) || IsZero(parent)) return std::nullopt;
  if (header.size() > kVersion00Length && (version == "00" || header[kVersion00Length] != '-'))
    return std::nullopt;
  return std::string(trace);
}

std::string RandomTraceId() {
  for (;;) {
    const Digest random = RandomDigest();
    std::string id = ToHex(AsView(random).substr(0, 16));
    if (!IsZero(id)) return id;
  }
}

}  // namespace expunge::rpc
