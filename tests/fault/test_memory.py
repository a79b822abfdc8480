"""The memory of the running server, read from outside: a destroyed key is not in it."""

import os
import shutil
import struct

from fault import FaultTest, Vault, binary, main, search_memory, skip_whole_file, sodium

DIMENSION = 8


def vector(number):
    return [((number * 37 + i * 101) % 1009) / 313 - 1.0371 + i / 7 for i in range(DIMENSION)]


def packed(numbers):
    return struct.pack(f"<{len(numbers)}d", *numbers)


class MemoryTest(FaultTest):
    def vault(self, copy):
        shutil.copyfile(os.path.join(self.server.data, "vault", "keys"), self.path(copy))
        return Vault(self.path(copy), os.path.join(self.server.data, "master.key"))

    def test_destroyed_keys_are_gone_at_once_and_the_plaintext_after_a_restart(self):
        self.serve()
        self.create("heads", keys=DIMENSION, values=1)
        tokens = [(f"memory-token-{i:04}-x", f"memory-subject-{i:04}-x", vector(i), [i / 3]) for i in range(40)]
        self.add("heads", tokens)
        name, subject, key, _ = tokens[17]
        plaintext = {"id": name.encode(), "subject": subject.encode(), "key": packed(key)}
        before = self.vault("before")

        # Controls: the search finds what lives in memory, of a survivor, of this token, and a key of 32 bytes.
        tenants = {f"tenant {slot}": before.keys[slot] for slot in set(before.parents.values()) - {0}}
        self.assertGreaterEqual(len(tenants), 1)
        survivor = {"survivor": packed(tokens[5][2])}
        hits, _ = search_memory(self.server.pid, {**survivor, **plaintext, **tenants})
        print(f"before the deletion: {hits}")
        for needle in ("survivor", "key", *tenants):
            self.assertGreater(hits[needle], 0, needle)

        self.answer("delete", "heads", "--token", name)
        after = self.vault("after")
        destroyed = after.changed_since(before)
        self.assertGreaterEqual(len(destroyed), 2, "the token's key and the state's key before it")
        keys = {f"slot {slot}": before.keys[slot] for slot in destroyed}
        hits, size = search_memory(self.server.pid, {**keys, **survivor, **plaintext, **tenants})
        print(f"after the deletion, in {size} bytes of memory: {hits}")
        self.assertEqual({needle: hits[needle] for needle in keys}, dict.fromkeys(keys, 0))
        for needle in ("survivor", *tenants):
            self.assertGreater(hits[needle], 0, needle)

        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        self.assertEqual(self.answer("memory", "get", "heads")["token_count"], 39)
        hits, _ = search_memory(self.server.pid, {**keys, **survivor, **plaintext})
        print(f"after a restart: {hits}")
        self.assertGreater(hits.pop("survivor"), 0)
        self.assertEqual(set(hits.values()), {0}, hits)
        self.assertEqual(self.server.stop(), 0)


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip_whole_file("reading the memory of another process needs root")
    with open(binary("expunged"), "rb") as program:
        content = program.read()
        if any(sign in content for sign in (b"__asan_init", b"__tsan_init")):
            skip_whole_file("a sanitizer keeps terabytes of address space, and memory that was freed")
    if sodium() is None:
        skip_whole_file("libsodium.so.23 is not installed")
    main()
