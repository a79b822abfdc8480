#include "certificate/log/merkle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/hash.h"

namespace expunge::certificate {
namespace {

// The largest power of two below n. REQUIRES: n > 1.
uint64_t SplitOf(uint64_t n) { return std::bit_floor(n - 1); }

// On a path from a leaf to the root, at one level: `index` of the subtree that holds the leaf, and `last`, of
// the tree's last one.
struct Position {
  uint64_t index;
  uint64_t last;

  [[nodiscard]] bool right_child() const { return (index & 1) != 0; }
  void Up() {
    index >>= 1;
    last >>= 1;
  }
  // The subtree that ends the tree has no sibling at levels where the tree has none to its right: it moves up
  // unhashed.
  void SkipLevelsWithoutSibling() {
    while (!right_child() && index != 0) Up();
  }
};

// Hashes on the path of leaf `index` in a tree of `size` leaves.
size_t PathLength(uint64_t index, uint64_t size) {
  const uint64_t last = size - 1;
  // Below the level where the paths of the leaf and of the last leaf meet there is one at every level; above
  // it, one wherever the last leaf's path is a right child.
  const auto inner = static_cast<int>(std::bit_width(index ^ last));
  const uint64_t rest = inner >= 64 ? 0 : index >> inner;
  return static_cast<size_t>(inner) + static_cast<size_t>(std::popcount(rest));
}

}  // namespace

Digest HashLogLeaf(absl::string_view entry) {
  return Sha256(absl::StrCat(absl::string_view("\0", 1), entry));
}

Digest HashLogNode(const Digest& left, const Digest& right) {
  std::array<char, 65> bytes{};
  bytes[0] = 1;
  std::copy(left.begin(), left.end(), bytes.begin() + 1);
  std::copy(right.begin(), right.end(), bytes.begin() + 33);
  return Sha256({bytes.data(), bytes.size()});
}

Digest EmptyLogRoot() { return Sha256(""); }

void MerkleLog::Append(const Digest& leaf_hash) {
  Digest hash = leaf_hash;
  for (size_t level = 0;; ++level) {
    if (level == levels_.size()) levels_.emplace_back();
    levels_[level].push_back(hash);
    const size_t count = levels_[level].size();
    if (count % 2 != 0) return;
    hash = HashLogNode(levels_[level][count - 2], levels_[level][count - 1]);
  }
}

void MerkleLog::Truncate(uint64_t size) {
  for (std::deque<Digest>& level : levels_) {
    level.resize(std::min<uint64_t>(level.size(), size));
    size /= 2;
  }
}

Digest MerkleLog::Range(uint64_t begin, uint64_t end) const {
  const uint64_t count = end - begin;
  if (std::has_single_bit(count)) {
    const auto level = static_cast<uint32_t>(std::countr_zero(count));
    return Subtree(level, begin >> level);
  }
  const uint64_t middle = begin + SplitOf(count);
  return HashLogNode(Range(begin, middle), Range(middle, end));
}

Digest MerkleLog::Root(uint64_t size) const { return size == 0 ? EmptyLogRoot() : Range(0, size); }

std::vector<Digest> MerkleLog::InclusionProof(uint64_t index, uint64_t size) const {
  std::vector<Digest> proof;
  uint64_t begin = 0;
  uint64_t end = size;
  while (end - begin > 1) {
    const uint64_t middle = begin + SplitOf(end - begin);
    if (index < middle) {
      proof.push_back(Range(middle, end));
      end = middle;
    } else {
      proof.push_back(Range(begin, middle));
      begin = middle;
    }
  }
  std::reverse(proof.begin(), proof.end());
  return proof;
}

std::vector<Digest> MerkleLog::ConsistencyProof(uint64_t old_size, uint64_t new_size) const {
  std::vector<Digest> proof;
  if (old_size == 0 || old_size == new_size) return proof;
  // Down to the subtree of the new tree that ends where the old tree ends (SUBPROOF of RFC 6962).
  uint64_t begin = 0;
  uint64_t end = new_size;
  while (end != old_size) {
    const uint64_t middle = begin + SplitOf(end - begin);
    if (old_size <= middle) {
      proof.push_back(Range(middle, end));
      end = middle;
    } else {
      proof.push_back(Range(begin, middle));
      begin = middle;
    }
  }
  // From the beginning on, it is the old tree itself, whose root the verifier has.
  if (begin != 0) proof.push_back(Range(begin, end));
  std::reverse(proof.begin(), proof.end());
  return proof;
}

LogReason VerifyInclusion(const Digest& leaf_hash, uint64_t index, uint64_t size, const Digest& root,
                          absl::Span<const Digest> proof) {
  if (index >= size) return LogReason::kIndexBeyondTree;
  if (proof.size() != PathLength(index, size)) return LogReason::kWrongProofLength;
  Position at{index, size - 1};
  Digest hash = leaf_hash;
  for (const Digest& sibling : proof) {
    if (at.index == at.last) at.SkipLevelsWithoutSibling();
    hash = at.right_child() ? HashLogNode(sibling, hash) : HashLogNode(hash, sibling);
    at.Up();
  }
  return hash == root ? LogReason::kOk : LogReason::kRootMismatch;
}

LogReason VerifyConsistency(const TreeHead& older, const TreeHead& newer, absl::Span<const Digest> proof) {
  if (older.size > newer.size) return LogReason::kWrongSizes;
  if (older.size == newer.size || older.size == 0) {
    if (!proof.empty()) return LogReason::kWrongProofLength;
    const Digest expected = older.size == 0 ? EmptyLogRoot() : newer.root;
    if (newer.size == 0 && newer.root != EmptyLogRoot()) return LogReason::kRootMismatch;
    return older.root == expected ? LogReason::kOk : LogReason::kRootMismatch;
  }
  // The largest subtree that ends where the older tree ends: both roots grow from it.
  const int level = std::countr_zero(older.size);
  Position at{(older.size >> level) - 1, (newer.size - 1) >> level};
  const bool is_older_tree = at.index == 0;
  const size_t length = PathLength(at.index, at.last + 1) + (is_older_tree ? 0 : 1);
  if (proof.size() != length) return LogReason::kWrongProofLength;
  Digest older_hash = is_older_tree ? older.root : proof.front();
  Digest newer_hash = older_hash;
  for (const Digest& sibling : proof.subspan(is_older_tree ? 0 : 1)) {
    if (at.index == at.last) at.SkipLevelsWithoutSibling();
    if (at.right_child()) {
      older_hash = HashLogNode(sibling, older_hash);
      newer_hash = HashLogNode(sibling, newer_hash);
    } else {
      newer_hash = HashLogNode(newer_hash, sibling);
    }
    at.Up();
  }
  const bool same = older_hash == older.root && newer_hash == newer.root;
  return same ? LogReason::kOk : LogReason::kRootMismatch;
}

}  // namespace expunge::certificate
