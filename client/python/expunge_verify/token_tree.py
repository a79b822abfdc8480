"""The token tree and the transition of a removal (docs/formats/certificate.md).

A compressed sparse Merkle tree over 32-byte handles; its shape, and so its root, follows from its contents alone.
"""

import hashlib
import re

from .refusal import require

EMPTY_ROOT = hashlib.sha256(b"").digest()
_BITS = 256
_INNER = re.compile(r"n(?:0|[1-9][0-9]{0,2})\Z")
_DIGEST = re.compile(r"d[0-9a-f]{64}\Z")


def leaf_hash(handle, content):
    return hashlib.sha256(b"\0" + handle + content).digest()


def node_hash(split, left, right):
    return hashlib.sha256(b"\1" + split.to_bytes(2, "big") + left + right).digest()


def bit(handle, position):
    return handle[position // 8] >> (7 - position % 8) & 1


def _first_difference(a, b):
    return _BITS - (int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).bit_length()


def token_tree_root(leaves):
    """`leaves`: pairs of handle and content. ValueError: a handle twice."""
    ordered = sorted(leaves)

    def subtree(low, high):
        if high - low == 1:
            return leaf_hash(*ordered[low])
        split = _first_difference(ordered[low][0], ordered[high - 1][0])
        if split == _BITS:
            raise ValueError("a handle twice")
        middle = next(i for i in range(low, high) if bit(ordered[i][0], split))
        return node_hash(split, subtree(low, middle), subtree(middle, high))

    return subtree(0, len(ordered)) if ordered else EMPTY_ROOT


def _refuse_unless(condition, message):
    require(condition, "BAD_TRANSITION", message)


class _Reader:
    """Reads a transition in preorder, and computes the tree before and after on the way.

    Below, a subtree's result is (root before, root after or None where nothing is left, one of its handles or None).
    """

    def __init__(self, items, removed):
        """`removed`: (handle, commitment), in ascending order of the handles."""
        self._items, self._position = items, 0
        self._removed, self._taken = removed, 0

    def _next(self):
        _refuse_unless(self._position < len(self._items), "the tree ends too early")
        self._position += 1
        return self._items[self._position - 1]

    def tree(self):
        result = self._subtree(-1)
        _refuse_unless(self._position == len(self._items), "something follows the tree")
        _refuse_unless(self._taken == len(self._removed), "not every removed token has a place")
        return result

    def _subtree(self, above):
        """`above`: the split bit of the node above."""
        item = self._next()
        if item == "r":
            _refuse_unless(self._taken < len(self._removed), "more places than removed tokens")
            handle, commitment = self._removed[self._taken]
            self._taken += 1
            return leaf_hash(handle, commitment), None, (handle, handle)
        if _DIGEST.match(item):
            digest = bytes.fromhex(item[1:])
            return digest, digest, None
        _refuse_unless(_INNER.match(item), "an item of another form")
        split = int(item[1:])
        _refuse_unless(above < split < _BITS, "split bits do not ascend")
        left_before, left_after, left_range = self._subtree(split)
        right_before, right_after, right_range = self._subtree(split)
        _refuse_unless(left_range or right_range, "a subtree without removed tokens is not one digest")
        self._check_side(left_range, split, 0)
        self._check_side(right_range, split, 1)
        whole = _join(left_range, right_range)
        _refuse_unless(_first_difference(*whole) >= split, "a handle is in the wrong subtree")
        if left_after is None or right_after is None:
            after = left_after or right_after
        else:
            after = node_hash(split, left_after, right_after)
        return node_hash(split, left_before, right_before), after, whole

    @staticmethod
    def _check_side(handles, split, side):
        for handle in handles or ():
            _refuse_unless(bit(handle, split) == side, "a handle is on the wrong side of its path")


def _join(left, right):
    """The least and the greatest handle of two subtrees; in ascending order, so the ends bound all between."""
    ends = [handle for part in (left, right) if part for handle in part]
    return ends[0], ends[-1]


def check_transition(items, removed, before_root, after_root):
    """Refused (BAD_TRANSITION): the items do not show that `removed` (pairs of handle and commitment, as bytes) were in
    the tree `before_root`, and that the tree `after_root` is that tree without them."""
    removed = sorted(removed)
    _refuse_unless(all(a[0] < b[0] for a, b in zip(removed, removed[1:])), "a handle twice")
    if not items:
        _refuse_unless(not removed, "removed tokens, and no tree that they were in")
        before = after = EMPTY_ROOT
    else:
        before, after, _ = _Reader(items, removed).tree()
    _refuse_unless(before == before_root, "the tree before has another root than the certificate names")
    _refuse_unless((after or EMPTY_ROOT) == after_root, "the tree after has another root than the certificate names")
