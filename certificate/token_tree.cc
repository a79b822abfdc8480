#include "certificate/token_tree.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/types/span.h"
#include "base/hash.h"
#include "certificate/tree_hash.h"

namespace expunge::certificate {
namespace {

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "fatal: %s\n", what);
  std::abort();
}

constexpr char kSameHandle[] = "two leaves of a token tree have the same handle";
constexpr char kUnknownHandle[] = "a token tree has no such handle";

const Digest& HandleOf(const TreeLeaf& leaf) { return leaf.handle; }
const Digest& HandleOf(const Digest& handle) { return handle; }

// How many handles have a 0 in bit `split`. REQUIRES: they ascend, and agree in all bits before.
template <typename T>
size_t Zeros(absl::Span<const T> ascending, int split) {
  const auto one = std::partition_point(ascending.begin(), ascending.end(),
                                        [split](const T& item) { return !HandleBit(HandleOf(item), split); });
  return static_cast<size_t>(one - ascending.begin());
}

template <typename T>
void Sort(std::vector<T>* items) {
  std::sort(items->begin(), items->end(), [](const T& a, const T& b) { return HandleOf(a) < HandleOf(b); });
}

// REQUIRES: `leaves` is not empty, in ascending order of the handle. Because of the order, the first bit in
// which any two handles differ is that in which the first and the last do. Recursion: at most kHandleBits
// deep.
Digest Subtree(absl::Span<const TreeLeaf> leaves) {
  if (leaves.size() == 1) return LeafHash(leaves.front());
  const int split = FirstDifference(leaves.front().handle, leaves.back().handle);
  if (split == kHandleBits) Die(kSameHandle);
  const size_t zeros = Zeros(leaves, split);
  return NodeHash(split, Subtree(leaves.first(zeros)), Subtree(leaves.subspan(zeros)));
}

}  // namespace

Digest TokenTreeRoot(std::vector<TreeLeaf> leaves) {
  if (leaves.empty()) return Sha256("");
  Sort(&leaves);
  return Subtree(leaves);
}

struct TokenTree::Node {
  Digest hash{};
  Digest handle{};          // of its first leaf
  int split = kHandleBits;  // kHandleBits: a leaf
  std::shared_ptr<const Node> left;
  std::shared_ptr<const Node> right;
};

// Changes of subtrees. Each recursion goes down to a later split bit, so it is at most kHandleBits deep; so
// is the destruction of nodes.
class TokenTree::Nodes {
 public:
  using Pointer = std::shared_ptr<const Node>;

  // `node` (null: empty) with `leaves` (ascending). Not both are empty.
  static Pointer Insert(const Pointer& node, absl::Span<const TreeLeaf> leaves) {
    if (leaves.empty()) return node;
    if (node == nullptr && leaves.size() == 1) return Leaf(leaves.front());
    int split = FirstDifference(leaves.front().handle, leaves.back().handle);
    if (node != nullptr) {
      split = std::min({split, node->split, FirstDifference(node->handle, leaves.front().handle)});
    }
    if (split == kHandleBits) Die(kSameHandle);
    const size_t zeros = Zeros(leaves, split);
    return Inner(split, Insert(Child(node, split, false), leaves.first(zeros)),
                 Insert(Child(node, split, true), leaves.subspan(zeros)));
  }

  // `node` without `handles` (ascending); null if nothing is left.
  static Pointer Erase(const Pointer& node, absl::Span<const Digest> handles) {
    if (handles.empty()) return node;
    if (node->split == kHandleBits) {
      if (handles.size() != 1 || handles.front() != node->handle) Die(kUnknownHandle);
      return nullptr;
    }
    const size_t zeros = Zeros(handles, node->split);
    Pointer left = Erase(node->left, handles.first(zeros));
    Pointer right = Erase(node->right, handles.subspan(zeros));
    if (left == nullptr) return right;
    if (right == nullptr) return left;
    return Inner(node->split, std::move(left), std::move(right));
  }

  // Appends the part of a transition for `node` and the removal of `handles` (ascending, all in it).
  static void Prune(const Pointer& node, absl::Span<const Digest> handles, Transition* out) {
    if (handles.empty()) {
      out->push_back({TransitionNode::Type::kUntouched, 0, node->hash});
      return;
    }
    if (node->split == kHandleBits) {
      if (handles.size() != 1 || handles.front() != node->handle) Die(kUnknownHandle);
      out->push_back({TransitionNode::Type::kRemoved, 0, {}});
      return;
    }
    const size_t zeros = Zeros(handles, node->split);
    out->push_back({TransitionNode::Type::kInner, node->split, {}});
    Prune(node->left, handles.first(zeros), out);
    Prune(node->right, handles.subspan(zeros), out);
  }

 private:
  static Pointer Leaf(const TreeLeaf& leaf) {
    return std::make_shared<const Node>(Node{LeafHash(leaf), leaf.handle, kHandleBits, nullptr, nullptr});
  }

  static Pointer Inner(int split, Pointer left, Pointer right) {
    const Digest hash = NodeHash(split, left->hash, right->hash);
    const Digest handle = left->handle;
    return std::make_shared<const Node>(Node{hash, handle, split, std::move(left), std::move(right)});
  }

  // The part of `node` whose handles have this bit at `split`. REQUIRES: split <= node->split.
  static Pointer Child(const Pointer& node, int split, bool bit) {
    if (node == nullptr) return nullptr;
    if (node->split == split) return bit ? node->right : node->left;
    return HandleBit(node->handle, split) == bit ? node : nullptr;
  }
};

Digest TokenTree::Root() const { return root_ == nullptr ? Sha256("") : root_->hash; }

void TokenTree::Insert(std::vector<TreeLeaf> leaves) {
  Sort(&leaves);
  root_ = Nodes::Insert(root_, leaves);
}

void TokenTree::Erase(std::vector<Digest> handles) {
  if (handles.empty()) return;
  if (root_ == nullptr) Die(kUnknownHandle);
  Sort(&handles);
  root_ = Nodes::Erase(root_, handles);
}

Transition TokenTree::TransitionOf(std::vector<Digest> removed) const {
  Transition transition;
  if (removed.empty()) return transition;
  if (root_ == nullptr) Die(kUnknownHandle);
  Sort(&removed);
  Nodes::Prune(root_, removed, &transition);
  return transition;
}

}  // namespace expunge::certificate
