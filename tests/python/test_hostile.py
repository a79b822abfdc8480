"""Whatever stands in a file, a verifier ends in a verdict: values of every type in every place, bytes at random, cuts and repeats."""

import copy
import json

import maker
import memories
from support import VerifyTest, main

from expunge_verify import bundle, envelope, log_proof, note
from expunge_verify.key_sets import KeyChain
from expunge_verify.keys import PublicKey
from expunge_verify.receipt import Receipts
from expunge_verify.refusal import Refused
from expunge_verify.statement import check_statement

KEY, LOG_KEY = maker.Key(1), maker.Key(7)
PINNED = [PublicKey(KEY.raw)]
VALUES = [
    None,
    True,
    [],
    {},
    [[]],
    "",
    "x",
    "0",
    "-1",
    "\x00",
    "é",
    "r",
    "n5",
    "d" + "0" * 64,
    "0" * 64,
    "0x1p+0",
    "inf",
    "9" * 30,
    "2026-01-01T00:00:00Z",
    ["x"],
    {"x": "y"},
    "A" * 5000,
]


def small_memory():
    memory = memories.Memory()
    for i in range(4):
        memory.add(f"t{i}", [float(i), float(i * i % 3)])
    return memory


class HostileTest(VerifyTest):
    def ends(self, check, *arguments):
        """True: accepted. An exception of any other kind than Refused fails the test."""
        try:
            check(*arguments)
        except Refused:
            return False
        return True

    def places(self, value, path=()):
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for name, inner in items:
            yield path + (name,)
            yield from self.places(inner, path + (name,))

    def variants(self, value):
        """Copies of a JSON value with another one in each place, in turn."""
        for path in self.places(value):
            for other in self.random.sample(VALUES, 8):
                altered = copy.deepcopy(value)
                parent = altered
                for step in path[:-1]:
                    parent = parent[step]
                parent[path[-1]] = other
                yield altered

    def test_statements(self):
        memory = small_memory()
        deletion = memory.remove("t1")
        payloads = [deletion, memory.purge_files(deletion), memory.certify()]
        for payload in payloads:
            accepted = sum(
                self.ends(check_statement, maker.canonical(altered)) for altered in self.variants(json.loads(payload))
            )
            self.assertLess(accepted, 150)  # texts and times may be others

    def test_envelopes(self):
        keys = {KEY.key_id: PINNED[0]}
        good = json.loads(maker.envelope(small_memory().certify(), KEY))
        for altered in self.variants(good):
            self.assertFalse(self.ends(envelope.verify_envelope, maker.canonical(altered), keys))

    def test_key_sets(self):
        payload = maker.key_set(1, b"", [maker.key_entry(KEY, "certificate"), maker.key_entry(LOG_KEY, "checkpoint")])
        for altered in self.variants(json.loads(payload)):
            self.ends(KeyChain, maker.keys_file([maker.envelope(maker.canonical(altered), KEY)]), PINNED)
        for altered in self.variants(json.loads(maker.keys_file([maker.envelope(payload, KEY)]))):
            self.assertFalse(self.ends(KeyChain, maker.canonical(altered), PINNED))

    def verify_bundle(self, content):
        read = bundle.read_bundle(content)
        bundle.check_digests(read)

    def test_bundles(self):
        header, tokens = small_memory().bundle_lines()
        for altered in self.variants([header, *tokens]):
            # Digests cover all but the time of creation and, without receipts, subjects.
            if isinstance(altered[0], dict):
                altered[0]["created"] = header["created"]
            same = all(
                isinstance(one, dict) and {**one, "subjects": 0} == {**token, "subjects": 0}
                for one, token in zip(altered[1:], tokens)
            )
            accepted = self.ends(self.verify_bundle, memories.bundle_bytes(altered[0], altered[1:]))
            self.assertFalse(accepted and not (same and altered[0] == header))
        body = maker.canonical(header) + b"\n"
        for last in VALUES + [{"sha256": other, "tokens": other} for other in VALUES]:
            self.assertFalse(
                self.ends(
                    self.verify_bundle, body + json.dumps(last, sort_keys=True, separators=(",", ":")).encode() + b"\n"
                )
            )

    def test_receipts(self):
        for altered in self.variants(json.loads(small_memory().receipt("t1", opened=True))):
            self.ends(Receipts, json.dumps(altered).encode())

    def test_bytes_at_random(self):
        keys = [note.NoteKey.parse(LOG_KEY.vkey(maker.ORIGIN))]
        memory = small_memory()
        good = [
            maker.envelope(memory.certify(), KEY),
            maker.log_proof(2, [b"x" * 128] * 5, LOG_KEY),
            memory.bundle(),
            memory.receipt("t1"),
        ]
        checks = [
            lambda content: envelope.verify_envelope(content, {KEY.key_id: PINNED[0]}),
            lambda content: log_proof.verify_log_proof(content, b"x", keys),
            lambda content: note.read_checkpoint(content, keys),
            lambda content: KeyChain(content, PINNED),
            bundle.read_bundle,
            Receipts,
            check_statement,
        ]
        for _ in range(1500):
            content = self.mangled(self.random.choice(good))
            for check in checks:
                self.ends(check, content)

    def mangled(self, content):
        """Cut, repeated, spliced, or with bytes at random."""
        a, b = sorted(self.random.randrange(len(content) + 1) for _ in range(2))
        noise = self.random.randbytes(self.random.randrange(1, 20))
        return self.random.choice(
            (
                content[a:b],
                content[:b] + content[a:],
                content[:a] + noise + content[b:],
                noise,
                content[:a] + noise + content[a:],
            )
        )


if __name__ == "__main__":
    main()
