#include "certificate/transition.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "certificate/token_tree.h"
#include "certificate/tree_hash.h"

namespace expunge::certificate {
namespace {

using Type = TransitionNode::Type;

// Reads a transition once from front to back, and makes both trees on the way back.
class Reader {
 public:
  // `removed` ascends strictly by handle.
  Reader(absl::Span<const TransitionNode> transition, absl::Span<const TreeLeaf> removed)
      : transition_(transition), removed_(removed) {}

  struct Subtree {
    Digest before{};
    std::optional<Digest> after;  // nullopt: nothing is left
    bool untouched = false;
  };

  // The next subtree, all split bits of which are above `above`. nullopt: it is not in its form. Recursion:
  // split bits ascend, so it is at most kHandleBits + 1 deep.
  std::optional<Subtree> Next(int above) {
    if (next_node_ == transition_.size()) return std::nullopt;
    const TransitionNode& node = transition_[next_node_++];
    switch (node.type) {
      case Type::kUntouched:
        return Subtree{node.digest, node.digest, true};
      case Type::kRemoved:
        if (next_leaf_ == removed_.size()) return std::nullopt;
        return Subtree{LeafHash(removed_[next_leaf_++]), std::nullopt, false};
      case Type::kInner:
        return Inner(node.split, above);
    }
    return std::nullopt;
  }

  [[nodiscard]] bool AtEnd() const {
    return next_node_ == transition_.size() && next_leaf_ == removed_.size();
  }

 private:
  std::optional<Subtree> Inner(int split, int above) {
    if (split <= above || split >= kHandleBits) return std::nullopt;
    const size_t first = next_leaf_;
    const std::optional<Subtree> left = Next(split);
    const size_t middle = next_leaf_;
    const std::optional<Subtree> right = left.has_value() ? Next(split) : std::nullopt;
    if (!right.has_value() || !Split(split, first, middle)) return std::nullopt;
    if (left->untouched && right->untouched) return std::nullopt;
    Subtree whole{NodeHash(split, left->before, right->before), std::nullopt, false};
    if (left->after.has_value() && right->after.has_value()) {
      whole.after = NodeHash(split, *left->after, *right->after);
    } else {
      whole.after = left->after.has_value() ? left->after : right->after;
    }
    return whole;
  }

  // Whether the removed leaves from `first` on agree in all bits before `split`, and in it have 0 up to
  // `middle` and 1 from there on. As they ascend, it is enough to look at the first and the last.
  [[nodiscard]] bool Split(int split, size_t first, size_t middle) const {
    if (first == next_leaf_) return true;
    if (FirstDifference(removed_[first].handle, removed_[next_leaf_ - 1].handle) < split) return false;
    const auto agree = [&](size_t begin, size_t end, bool bit) {
      return begin == end || (HandleBit(removed_[begin].handle, split) == bit &&
                              HandleBit(removed_[end - 1].handle, split) == bit);
    };
    return agree(first, middle, false) && agree(middle, next_leaf_, true);
  }

  absl::Span<const TransitionNode> transition_;
  absl::Span<const TreeLeaf> removed_;
  size_t next_node_ = 0;
  size_t next_leaf_ = 0;
};

}  // namespace

std::string TransitionText(const TransitionNode& node) {
  switch (node.type) {
    case Type::kInner:
      return absl::StrCat("n", node.split);
    case Type::kRemoved:
      return "r";
    case Type::kUntouched:
      return absl::StrCat("d", ToHex(AsView(node.digest)));
  }
  return "";
}

std::optional<TransitionNode> ParseTransitionNode(absl::string_view text) {
  if (text.empty()) return std::nullopt;
  const absl::string_view rest = text.substr(1);
  TransitionNode node;
  if (text.front() == 'r') {
    node.type = Type::kRemoved;
  } else if (text.front() == 'n') {
    node.type = Type::kInner;
    if (!absl::SimpleAtoi(rest, &node.split) || node.split < 0 || node.split >= kHandleBits)
      return std::nullopt;
  } else {
    const std::optional<std::string> bytes = FromHex(rest);
    const std::optional<Digest> digest = bytes.has_value() ? DigestFromBytes(*bytes) : std::nullopt;
    if (!digest.has_value()) return std::nullopt;
    node.type = Type::kUntouched;
    node.digest = *digest;
  }
  if (TransitionText(node) != text) return std::nullopt;
  return node;
}

bool VerifyTransition(absl::Span<const TransitionNode> transition, std::vector<TreeLeaf> removed,
                      const Digest& before, const Digest& after) {
  const Digest empty = Sha256("");
  if (removed.empty()) return transition.empty() && before == after;
  std::sort(removed.begin(), removed.end(),
            [](const TreeLeaf& a, const TreeLeaf& b) { return a.handle < b.handle; });
  const bool distinct =
      std::adjacent_find(removed.begin(), removed.end(), [](const TreeLeaf& a, const TreeLeaf& b) {
        return a.handle == b.handle;
      }) == removed.end();
  if (!distinct) return false;
  Reader reader(transition, removed);
  const std::optional<Reader::Subtree> tree = reader.Next(-1);
  return tree.has_value() && reader.AtEnd() && tree->before == before && tree->after.value_or(empty) == after;
}

}  // namespace expunge::certificate
