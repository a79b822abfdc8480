// The hashes of the token tree (token_tree.h). For use inside this folder only.
#ifndef EXPUNGE_CERTIFICATE_TREE_HASH_H_
#define EXPUNGE_CERTIFICATE_TREE_HASH_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "certificate/token_tree.h"

namespace expunge::certificate {

inline constexpr int kHandleBits = 256;

[[nodiscard]] inline bool HandleBit(const Digest& handle, int position) {
  return (handle[static_cast<size_t>(position / 8)] >> (7 - position % 8) & 1) != 0;
}

// The first bit in which `a` and `b` differ; kHandleBits if they are equal.
[[nodiscard]] inline int FirstDifference(const Digest& a, const Digest& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const auto difference = static_cast<uint8_t>(a[i] ^ b[i]);
    if (difference != 0) return static_cast<int>(8 * i) + std::countl_zero(difference);
  }
  return kHandleBits;
}

[[nodiscard]] inline Digest LeafHash(const TreeLeaf& leaf) {
  return Sha256(absl::StrCat(absl::string_view("\0", 1), AsView(leaf.handle), AsView(leaf.content)));
}

[[nodiscard]] inline Digest NodeHash(int split, const Digest& left, const Digest& right) {
  const char prefix[] = {'\1', static_cast<char>(split >> 8), static_cast<char>(split & 0xff)};
  return Sha256(absl::StrCat(absl::string_view(prefix, sizeof(prefix)), AsView(left), AsView(right)));
}

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_TREE_HASH_H_
