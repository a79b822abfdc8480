#include "certificate/token_tree.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/hash.h"

namespace expunge::certificate {
namespace {

constexpr int kHandleBits = 256;

bool Bit(const Digest& handle, int position) { return (handle[position / 8] >> (7 - position % 8) & 1) != 0; }

// The first bit in which `a` and `b` differ; kHandleBits if they are equal.
int FirstDifference(const Digest& a, const Digest& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const auto difference = static_cast<uint8_t>(a[i] ^ b[i]);
    if (difference != 0) return static_cast<int>(8 * i) + std::countl_zero(difference);
  }
  return kHandleBits;
}

Digest LeafHash(const TreeLeaf& leaf) {
  return Sha256(absl::StrCat(absl::string_view("\0", 1), AsView(leaf.handle), AsView(leaf.content)));
}

Digest NodeHash(int split, const Digest& left, const Digest& right) {
  const char prefix[] = {'\1', static_cast<char>(split >> 8), static_cast<char>(split & 0xff)};
  return Sha256(absl::StrCat(absl::string_view(prefix, sizeof(prefix)), AsView(left), AsView(right)));
}

// REQUIRES: `leaves` is not empty, in ascending order of the handle. Because of the order, the first bit in
// which any two handles differ is that in which the first and the last do. Recursion: at most kHandleBits
// deep.
Digest Subtree(absl::Span<const TreeLeaf> leaves) {
  if (leaves.size() == 1) return LeafHash(leaves.front());
  const int split = FirstDifference(leaves.front().handle, leaves.back().handle);
  if (split == kHandleBits) {
    std::fprintf(stderr, "fatal: two leaves of a token tree have the same handle\n");
    std::abort();
  }
  const auto right = std::partition_point(leaves.begin(), leaves.end(),
                                          [split](const TreeLeaf& leaf) { return !Bit(leaf.handle, split); });
  const auto left_size = static_cast<size_t>(right - leaves.begin());
  return NodeHash(split, Subtree(leaves.first(left_size)), Subtree(leaves.subspan(left_size)));
}

}  // namespace

Digest TokenTreeRoot(std::vector<TreeLeaf> leaves) {
  if (leaves.empty()) return Sha256("");
  std::sort(leaves.begin(), leaves.end(),
            [](const TreeLeaf& a, const TreeLeaf& b) { return a.handle < b.handle; });
  return Subtree(leaves);
}

}  // namespace expunge::certificate
