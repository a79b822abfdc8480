"""Key sets: a chain of rotations is followed from one pinned key; nothing may be taken back; windows hold."""

import json

import maker
import memories
from support import VerifyTest, main

from expunge_verify.forms import parse_time
from expunge_verify.key_sets import KeyChain
from expunge_verify.keys import PublicKey

A, B, C = (maker.Key(number) for number in (11, 12, 13))  # certificate keys
P, Q = maker.Key(21), maker.Key(22)  # checkpoint keys
DAYS = [f"2026-01-0{day}T00:00:00Z" for day in range(1, 7)]


def public(key):
    return PublicKey(key.raw)


def rotations():
    """Payloads and envelopes of four sets: A, then B, then another checkpoint key, then C."""
    sets = [[maker.key_entry(A, "certificate", DAYS[0]), maker.key_entry(P, "checkpoint", DAYS[0])]]
    ended = lambda entry, day, size: {**entry, "notAfter": DAYS[day], "endLogSize": size}
    sets.append([ended(sets[0][0], 1, "10"), sets[0][1], maker.key_entry(B, "certificate", DAYS[1])])
    sets.append([sets[1][0], ended(sets[1][1], 2, "20"), sets[1][2], maker.key_entry(Q, "checkpoint", DAYS[2])])
    sets.append(
        [sets[2][0], sets[2][1], ended(sets[2][2], 3, "30"), sets[2][3], maker.key_entry(C, "certificate", DAYS[3])]
    )
    payloads, envelopes = [], []
    for number, (entries, signer) in enumerate(zip(sets, (A, A, B, B))):
        payloads.append(maker.key_set(number + 1, payloads[-1] if payloads else b"", entries, DAYS[number]))
        envelopes.append(maker.envelope(payloads[-1], signer))
    return payloads, envelopes


class KeySetsTest(VerifyTest):
    def setUp(self):
        super().setUp()
        self.payloads, self.envelopes = rotations()
        self.file = maker.keys_file(self.envelopes)

    def chain(self, content=None, *pins):
        return KeyChain(self.file if content is None else content, [public(key) for key in pins or (A,)])

    def resigned(self, place, change, signer):
        """The file up to a set whose predicate was changed, signed by `signer`."""
        statement = json.loads(self.payloads[place])
        change(statement["predicate"])
        statement["subject"] = [
            {"name": entry["keyId"], "digest": {"sha256": entry["keyId"]}} for entry in statement["predicate"]["keys"]
        ]
        return maker.keys_file(self.envelopes[:place] + [maker.envelope(maker.canonical(statement), signer)])

    def test_three_rotations_are_followed_from_the_first_key(self):
        chain = self.chain()
        self.assertEqual([one.sequence for one in chain.sets], [1, 2, 3, 4])
        self.assertEqual({key.key_id for key in chain.certificate_keys()}, {key.key_id for key in (A, B, C)})
        self.assertEqual([key.vkey for key in chain.log_keys()], [P.vkey(maker.ORIGIN), Q.vkey(maker.ORIGIN)])

    def test_any_key_that_signed_a_set_can_be_pinned(self):
        self.chain(None, B)
        self.assertRefused("UNPINNED", self.chain, None, maker.Key(99))
        self.assertRefused("UNPINNED", self.chain, None, C)  # it has not signed a set yet
        self.assertRefused("UNPINNED", self.chain, None, P)  # a key of the log vouches for no certificate key

    def test_every_bit_matters(self):
        for position in range(0, 8 * len(self.file), 29):
            altered = bytearray(self.file)
            altered[position // 8] ^= 1 << position % 8
            self.assertRefused(None, self.chain, bytes(altered))

    def test_other_forms_of_the_file_are_refused(self):
        for content in (
            b"",
            b"{}",
            b"[]",
            b'{"keySets":[]}',
            b'{"keySets":{}}',
            self.file + b"\n",
            self.file[:-1],
            self.file.replace(b":[{", b": [{", 1),
            b'{"keySets":[7]}',
            b'{"keySets":["x"]}',
            b"\xff",
        ):
            with self.subTest(content=content[:20]):
                self.assertRefused(("NOT_A_KEYS_FILE", "NOT_AN_ENVELOPE", "NOT_JSON"), self.chain, content)

    def test_sets_that_are_missing_or_out_of_order_are_refused(self):
        one, two, three, four = self.envelopes
        for sets in (
            [two, three, four],
            [one, three, four],
            [one, two, four],
            [one, three, two, four],
            [one, one, two],
        ):
            self.assertRefused(("BROKEN_SEQUENCE", "WRONG_SIGNER", "CONTRADICTION"), self.chain, maker.keys_file(sets))
        self.chain(maker.keys_file([one, two, three]))  # an older file is whole as well

    def test_a_set_by_another_key_than_the_active_one_is_refused(self):
        for place, signer in ((1, B), (2, A), (2, P), (3, C)):
            content = maker.keys_file(self.envelopes[:place] + [maker.envelope(self.payloads[place], signer)])
            self.assertRefused("WRONG_SIGNER", self.chain, content)

    def test_nothing_is_taken_back(self):
        changes = {
            "a key goes": lambda p: p["keys"].pop(0),
            "an end moves": lambda p: p["keys"][0].update(endLogSize="11"),
            "a retired key comes back": lambda p: p["keys"][0].update(notAfter="", endLogSize=""),
            "a beginning moves": lambda p: p["keys"][1].update(notBefore="2025-12-01T00:00:00Z"),
            "custody changes": lambda p: p["keys"][1].update(custody="another"),
            "a new key begins in the past": lambda p: p["keys"][3].update(notBefore="2025-12-31T00:00:00Z"),
            "the clock goes back": lambda p: p.update(issued=DAYS[0]),
            "another predecessor": lambda p: p.update(previousPayloadSha256=maker.digest(5)),
            "another number": lambda p: p.update(sequence="4"),
            "two active keys": lambda p: p["keys"].append(maker.key_entry(C, "certificate", DAYS[2])),
            "a key twice": lambda p: p["keys"].append({**p["keys"][0]}),
            "another id": lambda p: p["keys"][3].update(keyId=maker.digest(5)),
            "half an end": lambda p: p["keys"][0].update(endLogSize=""),
            "an unknown use": lambda p: p["keys"][3].update(use="other"),
            "a field more": lambda p: p.update(more="x"),
        }
        for name, change in changes.items():
            with self.subTest(name=name):
                self.assertRefused(
                    ("CONTRADICTION", "BROKEN_SEQUENCE", "MALFORMED_STATEMENT"), self.chain, self.resigned(2, change, B)
                )

    def test_a_log_that_began_anew_has_both_names(self):
        chain = self.chain(self.resigned(3, lambda p: p.update(logOrigin="example.com/anew"), B))
        self.assertEqual({key.name for key in chain.log_keys()}, {maker.ORIGIN, "example.com/anew"})

    def test_a_certificate_is_no_key_set(self):
        memory = memories.Memory()
        memory.add("t", [1])
        self.assertRefused("WRONG_PREDICATE_TYPE", self.chain, maker.keys_file([maker.envelope(memory.certify(), A)]))

    def test_windows_of_certificate_keys(self):
        chain = self.chain()
        check = lambda key, time, index: chain.check_certificate_key(public(key), parse_time(time), index)
        check(A, DAYS[0], 0)
        check(A, DAYS[1], 9)
        check(A, DAYS[1], None)
        check(C, DAYS[5], 10**9)
        self.assertRefused("AFTER_KEY", check, A, DAYS[2], 9)
        self.assertRefused("BEYOND_KEY", check, A, DAYS[1], 10)
        self.assertRefused("BEFORE_KEY", check, B, DAYS[0], 5)
        self.assertRefused("UNLISTED_KEY", check, maker.Key(99), DAYS[0], 0)
        self.assertRefused("WRONG_KEY_USE", check, P, DAYS[0], 0)

    def test_windows_of_checkpoint_keys(self):
        chain = self.chain()
        chain.check_checkpoint_key(public(P), 20)
        chain.check_checkpoint_key(public(Q), 10**9)
        self.assertRefused("BEYOND_KEY", chain.check_checkpoint_key, public(P), 21)
        self.assertRefused("WRONG_KEY_USE", chain.check_checkpoint_key, public(A), 1)


if __name__ == "__main__":
    main()
