"""RFC 6962 Merkle trees: roots, inclusion and consistency proofs (sections 2.1, 2.1.1, 2.1.2)."""

import hashlib

from .refusal import require


def leaf_hash(entry):
    return hashlib.sha256(b"\0" + entry).digest()


def node_hash(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


def root_of(hashes):
    """MTH of leaves with these hashes."""
    if not hashes:
        return hashlib.sha256(b"").digest()
    # A stack of complete subtrees, the smallest last; what is left over is joined from the right.
    stack = []
    for hash_ in hashes:
        size = 1
        while stack and stack[-1][0] == size:
            hash_ = node_hash(stack.pop()[1], hash_)
            size *= 2
        stack.append((size, hash_))
    root = stack.pop()[1]
    while stack:
        root = node_hash(stack.pop()[1], root)
    return root


def _split(size):
    """The largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def root_from_inclusion(index, size, leaf, path):
    """The root that an audit path leads to. Refused (INDEX_BEYOND_TREE, WRONG_PROOF_LENGTH): it is no path for this index and size."""
    require(0 <= index < size, "INDEX_BEYOND_TREE", "the index is not in the tree")
    rest = list(path)

    def climb(index, size):
        if size == 1:
            return leaf
        k = _split(size)
        left = climb(index, k) if index < k else climb(index - k, size - k)
        require(rest, "WRONG_PROOF_LENGTH", "the inclusion proof is too short")
        other = rest.pop(0)
        return node_hash(left, other) if index < k else node_hash(other, left)

    root = climb(index, size)
    require(not rest, "WRONG_PROOF_LENGTH", "the inclusion proof is too long")
    return root


def check_consistency(old_size, old_root, new_size, new_root, proof):
    """Refused (LOG_INCONSISTENT): the proof does not show that the tree of the new root begins with that of the old."""
    require(0 <= old_size <= new_size, "LOG_INCONSISTENT", "the log has become shorter")
    if old_size == 0 or old_size == new_size:
        require(not proof, "LOG_INCONSISTENT", "a proof where none is needed")
        require(old_size == 0 or old_root == new_root, "LOG_INCONSISTENT", "one size, two roots")
        return
    rest = list(proof)

    def take():
        require(rest, "LOG_INCONSISTENT", "the consistency proof is too short")
        return rest.pop(0)

    def both(m, n, whole):
        """(root of the old part, root of the subtree of size n): SUBPROOF read from its leaf on."""
        if m == n:
            if whole:
                return old_root, old_root
            same = take()
            return same, same
        k = _split(n)
        if m <= k:
            old, new = both(m, k, whole)
            return old, node_hash(new, take())
        old, new = both(m - k, n - k, False)
        left = take()
        return node_hash(left, old), node_hash(left, new)

    old, new = both(old_size, new_size, True)
    require(not rest, "LOG_INCONSISTENT", "the consistency proof is too long")
    require(old == old_root and new == new_root, "LOG_INCONSISTENT", "the old log is not the beginning of the new one")


def inclusion_path(index, hashes):
    """PATH(index, D) for leaves with these hashes."""
    if len(hashes) == 1:
        return []
    k = _split(len(hashes))
    if index < k:
        return inclusion_path(index, hashes[:k]) + [root_of(hashes[k:])]
    return inclusion_path(index - k, hashes[k:]) + [root_of(hashes[:k])]


def consistency_proof(old_size, hashes):
    """PROOF(old_size, D) for leaves with these hashes. REQUIRES: 0 < old_size <= len(hashes)."""

    def subproof(m, hashes, whole):
        if m == len(hashes):
            return [] if whole else [root_of(hashes)]
        k = _split(len(hashes))
        if m <= k:
            return subproof(m, hashes[:k], whole) + [root_of(hashes[k:])]
        return subproof(m - k, hashes[k:], False) + [root_of(hashes[:k])]

    return subproof(old_size, hashes, True)
