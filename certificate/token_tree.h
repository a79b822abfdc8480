// The token tree: one digest for a set of tokens.
//
// A compressed sparse Merkle tree over 32-byte handles: a subtree with one leaf is that leaf, one with more
// splits at the first bit (most significant first) in which its handles differ. So its shape, and its root,
// depend on the contents alone.
//     leaf = SHA-256(0x00 | handle | content)       node = SHA-256(0x01 | split bit, 16 bits big-endian |
//     left | right) empty tree = SHA-256("")
#ifndef EXPUNGE_CERTIFICATE_TOKEN_TREE_H_
#define EXPUNGE_CERTIFICATE_TOKEN_TREE_H_

#include <vector>

#include "base/bytes.h"

namespace expunge::certificate {

struct TreeLeaf {
  Digest handle{};
  Digest content{};
};

// REQUIRES: handles distinct, in any order. Cost: O(n log n) hashes and comparisons.
[[nodiscard]] Digest TokenTreeRoot(std::vector<TreeLeaf> leaves);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_TOKEN_TREE_H_
