// The token tree: one digest for a set of tokens.
//
// A compressed sparse Merkle tree over 32-byte handles: a subtree with one leaf is that leaf, one with more
// splits at the first bit (most significant first) in which its handles differ. So its shape, and its root,
// depend on the contents alone.
//     leaf = SHA-256(0x00 | handle | content)
//     node = SHA-256(0x01 | split bit, 16 bits big-endian | left | right)
//     empty tree = SHA-256("")
#ifndef EXPUNGE_CERTIFICATE_TOKEN_TREE_H_
#define EXPUNGE_CERTIFICATE_TOKEN_TREE_H_

#include <memory>
#include <vector>

#include "base/bytes.h"
#include "certificate/transition.h"

namespace expunge::certificate {

struct TreeLeaf {
  Digest handle{};
  Digest content{};
};

// From nothing. REQUIRES: handles distinct, in any order. Cost: O(n) hashes, O(n log n) comparisons.
[[nodiscard]] Digest TokenTreeRoot(std::vector<TreeLeaf> leaves);

// A token tree that changes. Nodes never do: a change makes those on its paths anew and shares the rest, so a
// copy costs a pointer and stays what it was. No node of a tree has anything of a leaf that was erased.
//
// Depth: at most 256, and about log2 n for handles that nobody could choose. Space: about 256 bytes a leaf.
// Threads: one at a time for each object; copies are independent.
class TokenTree {
 public:
  // Empty.
  TokenTree() = default;

  // TokenTreeRoot of the leaves that it holds. Cost: O(1).
  [[nodiscard]] Digest Root() const;

  // REQUIRES: handles distinct, and none of them in the tree. Cost: m leaves: O(m log n) hashes, and never
  // more than O(m + n).
  void Insert(std::vector<TreeLeaf> leaves);
  // REQUIRES: handles distinct, and all of them in the tree. Cost: as Insert.
  void Erase(std::vector<Digest> handles);

  // The transition (transition.h) that Erase of the same handles would make; nothing changes.
  // REQUIRES and Cost: as Erase.
  [[nodiscard]] Transition TransitionOf(std::vector<Digest> removed) const;

 private:
  class Nodes;
  struct Node;
  std::shared_ptr<const Node> root_;  // null: empty
};

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_TOKEN_TREE_H_
