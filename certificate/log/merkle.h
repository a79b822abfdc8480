// The Merkle tree of a log (RFC 6962, section 2.1), and its two proofs.
//
//     leaf = SHA-256(0x00 | entry)      node = SHA-256(0x01 | left | right)      empty tree = SHA-256("")
//
// A tree of n > 1 leaves has the first k on its left, k being the largest power of two below n. So every
// aligned run of 2^l leaves is one subtree of every tree that has these leaves, and never changes.
#ifndef EXPUNGE_CERTIFICATE_LOG_MERKLE_H_
#define EXPUNGE_CERTIFICATE_LOG_MERKLE_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/bytes.h"
#include "certificate/log/log_reason.h"

namespace expunge::certificate {

[[nodiscard]] Digest HashLogLeaf(absl::string_view entry);
[[nodiscard]] Digest HashLogNode(const Digest& left, const Digest& right);
// The root of no leaves.
[[nodiscard]] Digest EmptyLogRoot();

// The hashes of a log that grows: of every complete subtree, so that a proof needs no entry.
// Space: 67 bytes a leaf. Threads: any number of readers, or one writer.
class MerkleLog {
 public:
  [[nodiscard]] uint64_t size() const { return levels_.empty() ? 0 : levels_.front().size(); }

  // Cost: 1 hash on average, at most log2 n.
  void Append(const Digest& leaf_hash);
  // Forgets the leaves from `size` on, as if they had never come. REQUIRES: size <= size(). Cost: O(their
  // number).
  void Truncate(uint64_t size);

  // Of the first `size` leaves. REQUIRES: size <= size(). Cost: log2 n hashes.
  [[nodiscard]] Digest Root(uint64_t size) const;
  [[nodiscard]] Digest Root() const { return Root(size()); }
  // Of the subtree over the leaves [index 2^level, (index + 1) 2^level). REQUIRES: all of them are there.
  [[nodiscard]] const Digest& Subtree(uint32_t level, uint64_t index) const { return levels_[level][index]; }

  // From the leaf's sibling up to the root's child, in the tree of the first `size` leaves. REQUIRES: index <
  // size <= size(). Cost: 2 log2 n hashes.
  [[nodiscard]] std::vector<Digest> InclusionProof(uint64_t index, uint64_t size) const;
  // PROOF(old_size, D[new_size]); empty if old_size is 0 or new_size. REQUIRES: old_size <= new_size <=
  // size(). Cost: 2 log2 n hashes.
  [[nodiscard]] std::vector<Digest> ConsistencyProof(uint64_t old_size, uint64_t new_size) const;

 private:
  // Of the leaves [begin, end), which are a subtree of some tree.
  [[nodiscard]] Digest Range(uint64_t begin, uint64_t end) const;

  std::deque<std::deque<Digest>> levels_;  // levels_[l][i]: Subtree(l, i)
};

// Whether the entry with this hash is leaf `index` of the tree with this size and root. Never crashes,
// whatever the proof. Returns: kOk, kIndexBeyondTree, kWrongProofLength or kRootMismatch. Cost: log2 n
// hashes.
[[nodiscard]] LogReason VerifyInclusion(const Digest& leaf_hash, uint64_t index, uint64_t size,
                                        const Digest& root, absl::Span<const Digest> proof);

struct TreeHead {
  uint64_t size = 0;
  Digest root{};
};

// Whether the leaves of `older` are the first of `newer`. Every tree follows the empty one. Returns: kOk,
// kWrongSizes, kWrongProofLength or kRootMismatch. Cost: log2 n hashes.
[[nodiscard]] LogReason VerifyConsistency(const TreeHead& older, const TreeHead& newer,
                                          absl::Span<const Digest> proof);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_LOG_MERKLE_H_
