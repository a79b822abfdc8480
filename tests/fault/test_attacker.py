"""An attacker with a copy of the whole directory, and with every key that is left in it.

Right after a Delete the ciphertext of the token is still in the database's log: the worst moment. The attacker reads the log
and the vault with programs of its own, opens every survivor, and no deleted token, under no key that is left.
"""

import os

from fault import FaultTest, Vault, copy_directory, main, skip_whole_file, sodium, unseal
from sealed import leading_text, logged_values


class Copy:
    """What the attacker took: the directory at one moment. Only the number of the format is not a sealed value."""

    def __init__(self, server, directory):
        copy_directory(server.data, directory)
        self.vault = Vault(os.path.join(directory, "vault", "keys"), os.path.join(directory, "master.key"))
        self.directory, self.values = directory, logged_values(directory)

    def tokens(self):
        return [value for value in self.values if value.family == "tokens"]

    def every_key(self):
        """All keys that open in the vault, the master key, and every 32 bytes of the files that hold keys."""
        keys = {*self.vault.keys.values(), self.vault.master}
        for name in ("vault/keys", "master.key"):
            with open(os.path.join(self.directory, name), "rb") as file:
                content = file.read()
            keys.update(content[at:at + 32] for at in range(0, len(content) - 31, 8))
        return keys


class AttackerTest(FaultTest):
    def test_every_survivor_opens_and_no_deleted_token(self):
        self.serve()
        self.create("held", keys=3, values=1)
        names = [f"attacked-{i:03}" for i in range(24)]
        self.add("held", [(name, f"who-{name}", [i / 3, i % 7, 1.0], [i / 2]) for i, name in enumerate(names)])
        before = Copy(self.server, self.path("before"))
        gone = set(names[3:20:4])
        self.answer("delete", "held", "--token", *sorted(gone))
        after = Copy(self.server, self.path("after"))
        self.assertEqual(self.server.stop(), 0)

        # Control: before the deletion the same program opens every token, the later deleted ones too.
        owner = {}
        for value in before.tokens():
            record = value.open(before.vault.keys.get(value.slot))
            self.assertIsNotNone(record)
            owner[value.slot] = leading_text(record, names)
        self.assertEqual(sorted(owner.values()), names)

        opened, closed = set(), []
        for value in after.tokens():
            if value.open(after.vault.keys.get(value.slot)) is not None:
                opened.add(owner[value.slot])
            else:
                closed.append(value)
        self.assertEqual(opened, set(names) - gone)
        # The ciphertext is all there, so what keeps the attacker out is the key alone.
        self.assertEqual({owner[value.slot] for value in closed}, gone)
        for value in closed:
            self.assertIsNotNone(value.open(before.vault.keys[value.slot]))

        keys = after.every_key()
        print(f"{len(keys)} keys tried on each of {len(closed)} deleted tokens")
        for value in closed:
            self.assertFalse(any(value.open(key) is not None for key in keys))

        changed = set(after.vault.changed_since(before.vault))
        slots = {name: slot for slot, name in owner.items()}
        self.assertLessEqual({slots[name] for name in gone}, changed)
        self.assertFalse({slots[name] for name in set(names) - gone} & changed)
        self.check_states(before, after)

    def check_states(self, before, after):
        """The memory's state before the deletion, which has every token's weight, is closed too; the one after it is open."""
        states = [value for value in after.values if value.family == "states"]
        older = [value for value in states if value.open(after.vault.keys.get(value.slot)) is None]
        self.assertEqual(len(states) - len(older), 1)
        self.assertIsNotNone(states[-1].open(after.vault.keys[states[-1].slot]))
        self.assertTrue(any(value.open(before.vault.keys.get(value.slot)) is not None for value in older))
        for value in older:
            self.assertFalse(any(value.open(key) is not None for key in after.every_key()))


if __name__ == "__main__":
    if sodium() is None:
        skip_whole_file("libsodium.so.23 is not installed")
    main()
