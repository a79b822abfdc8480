"""Token trees and transitions: against the plain recursion, and against every kind of lie."""

import hashlib

import maker
from support import VerifyTest, main

from expunge_verify.token_tree import EMPTY_ROOT, check_transition, token_tree_root


class TokenTreeTest(VerifyTest):
    def leaves(self, count):
        """Handles that share long beginnings, too."""
        result = {}
        while len(result) < count:
            handle = bytearray(hashlib.sha256(b"%d" % self.random.getrandbits(64)).digest())
            if self.random.random() < 0.5 and result:
                handle[: self.random.randrange(32)] = self.random.choice(list(result))[: self.random.randrange(32)]
                handle = (bytes(handle) + bytes(32))[:32]
            result[bytes(handle)] = hashlib.sha256(b"content %d" % self.random.getrandbits(64)).digest()
        return result

    def case(self, count, removed):
        leaves = self.leaves(count)
        gone = set(self.random.sample(sorted(leaves), removed))
        after = {handle: content for handle, content in leaves.items() if handle not in gone}
        return leaves, gone, after, maker.transition(leaves, gone)

    def check(self, items, leaves, gone, after):
        check_transition(items, [(handle, leaves[handle]) for handle in gone], maker.tree(leaves), maker.tree(after))

    def test_roots_equal_those_of_the_recursion(self):
        self.assertEqual(token_tree_root([]), EMPTY_ROOT)
        for count in range(1, 40):
            leaves = self.leaves(count)
            self.assertEqual(token_tree_root(leaves.items()), maker.tree(leaves))
        # Handles that differ in the first, and in the last bit alone.
        leaves = {bytes(32): b"a" * 32, bytes(31) + b"\1": b"b" * 32, b"\x80" + bytes(31): b"c" * 32}
        self.assertEqual(token_tree_root(leaves.items()), maker.tree(leaves))

    def test_true_transitions_pass(self):
        for count in range(1, 30):
            for removed in {1, count // 2 or 1, count}:
                leaves, gone, after, items = self.case(count, removed)
                self.check(items, leaves, gone, after)
        check_transition([], [], EMPTY_ROOT, EMPTY_ROOT)

    def test_other_tokens_and_other_roots_are_refused(self):
        for _ in range(60):
            leaves, gone, after, items = self.case(self.random.randrange(2, 12), 1)
            [handle] = gone
            pair, before_root, after_root = (handle, leaves[handle]), maker.tree(leaves), maker.tree(after)
            other = next(h for h in leaves if h != handle)
            for removed in (
                [],
                [(other, leaves[other])],
                [(handle, bytes(32))],
                [pair, (bytes(32), bytes(32))],
                [pair, pair],
            ):
                self.assertRefused("BAD_TRANSITION", check_transition, items, removed, before_root, after_root)
            for roots in (
                (before_root, before_root),
                (after_root, after_root),
                (bytes(32), after_root),
                (before_root, bytes(32)),
            ):
                self.assertRefused("BAD_TRANSITION", check_transition, items, [pair], *roots)
            self.assertRefused("BAD_TRANSITION", check_transition, [], [pair], before_root, after_root)

    def test_every_change_of_an_item_is_refused(self):
        for _ in range(30):
            leaves, gone, after, items = self.case(self.random.randrange(2, 10), 2)
            for place, item in enumerate(items):
                for other in self.others(item) - {item}:
                    with self.subTest(item=item, other=other):
                        self.assertRefused(
                            "BAD_TRANSITION",
                            self.check,
                            items[:place] + [other] + items[place + 1 :],
                            leaves,
                            gone,
                            after,
                        )
                self.assertRefused("BAD_TRANSITION", self.check, items[:place], leaves, gone, after)
                self.assertRefused(
                    "BAD_TRANSITION", self.check, items[:place] + items[place + 1 :], leaves, gone, after
                )
            self.assertRefused("BAD_TRANSITION", self.check, items + ["r"], leaves, gone, after)

    def others(self, item):
        if item.startswith("n"):
            split = int(item[1:])
            return {f"n{split + 1}", f"n{max(split - 1, 0)}", f"n0{split}", "n256", "n-1", "n", "r", "d" + "0" * 64}
        return {"d" + "0" * 64, "n7", "r", "R", "r ", "", item.upper(), item[:-1] + "0"}

    def test_an_untouched_subtree_has_one_form(self):
        # Two digests below one node say the same as one.
        leaves, gone, after, items = self.case(12, 1)
        place = next(i for i, item in enumerate(items) if item.startswith("d"))
        split = max(int(item[1:]) for item in items if item.startswith("n")) + 1
        left, right = hashlib.sha256(b"l").digest(), hashlib.sha256(b"r").digest()
        node = hashlib.sha256(b"\1" + split.to_bytes(2, "big") + left + right).digest()
        one = items[:place] + ["d" + node.hex()] + items[place + 1 :]
        two = items[:place] + [f"n{split}", "d" + left.hex(), "d" + right.hex()] + items[place + 1 :]
        messages = {
            str(self.assertRefused("BAD_TRANSITION", self.check, form, leaves, gone, after)) for form in (one, two)
        }
        self.assertEqual(len(messages), 2)
        self.assertTrue(any("not one digest" in message for message in messages))


if __name__ == "__main__":
    main()
