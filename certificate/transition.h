// From the token tree before a removal to the one after it, shown by the parts that the removal touches.
//
// The tree before (token_tree.h), in preorder, where each largest subtree without removed tokens is its
// digest alone. From it and the removed tokens follow both roots: that before (so they were in it:
// inclusion), and that after, which is the same tree without their leaves (so they are in it no more, and
// nothing else has changed: absence).
//     n<split bit>    an inner node; its left and its right subtree follow
//     r               a removed leaf: the first in preorder is that of the lowest handle, and so on
//     d<64 hex>       the digest of a subtree without removed tokens; never two below one node
// Nothing removed: no element at all. So a removal has one form.
#ifndef EXPUNGE_CERTIFICATE_TRANSITION_H_
#define EXPUNGE_CERTIFICATE_TRANSITION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/bytes.h"

namespace expunge::certificate {

struct TreeLeaf;

struct TransitionNode {
  enum class Type { kInner, kRemoved, kUntouched };
  Type type = Type::kRemoved;
  int split = 0;    // kInner: 0 to 255
  Digest digest{};  // kUntouched

  friend bool operator==(const TransitionNode&, const TransitionNode&) = default;
};

using Transition = std::vector<TransitionNode>;

// "n17", "r", "d0a...": the form of one element in a payload, and back; nullopt for anything else.
[[nodiscard]] std::string TransitionText(const TransitionNode& node);
[[nodiscard]] std::optional<TransitionNode> ParseTransitionNode(absl::string_view text);

// Whether `transition` is the one form that shows: a tree with the root `before` holds the leaves `removed`,
// and without them it has the root `after`. `removed` may come in any order. Whatever the input, recursion is
// at most 257 deep. Cost: O(elements) hashes, O(r log r) comparisons.
[[nodiscard]] bool VerifyTransition(absl::Span<const TransitionNode> transition,
                                    std::vector<TreeLeaf> removed, const Digest& before, const Digest& after);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_TRANSITION_H_
