"""Audit bundles: true ones pass, and one altered weight, class, key, commitment or digest is refused."""

import base64
import os
import struct

import maker
import memories
from support import GOLDEN, VerifyTest, main

from expunge_verify import bundle, proof
from expunge_verify.refusal import Refused

# With min_support 3 of classes S, R, S, S, E.
KEYS = [[2.75, 1.75], [0.75, 0.25], [1.5, 0.5], [0.25, 0.5], [2.75, 2.0]]


def memory(count=5, **options):
    result = memories.Memory(**options)
    for i, key in enumerate(KEYS[:count]):
        result.add(f"t{i}", key, [1.0, float(i)], subjects=("s1", f"s{i}x"))
    return result


def verify(content):
    read = bundle.read_bundle(content)
    bundle.check_digests(read)
    bundle.solve_again(read)
    return read


class BundleTest(VerifyTest):
    def altered(self, made, change):
        """The bundle after `change(header, tokens)`, with a last line that fits."""
        header, tokens = made.bundle_lines()
        change(header, tokens)
        return memories.bundle_bytes(header, tokens)

    def refreshed(self, made, change):
        """The same, with every digest computed again from the altered tokens: what is left to notice is the solution."""
        read = bundle.read_bundle(self.altered(made, change))
        digests = bundle.Digests(read)

        def change_digests(header, tokens):
            change(header, tokens)
            header.update(
                tokenRoot=digests.token_root().hex(),
                entriesRoot=digests.entries_root().hex(),
                stateDigest=digests.state_digest().hex(),
                fingerprint=bundle.fingerprint(read).hex(),
            )

        return self.altered(made, change_digests)

    def test_memories_of_every_size_and_box_pass(self):
        for count in range(6):
            for options in (
                {},
                {"min_support": 1},
                {"min_support": 50},
                {"min_support": 0, "box_value": 0.25},
                {"min_support": 0, "box_value": 1.0},
            ):
                with self.subTest(count=count, options=options):
                    read = verify(memory(count, **options).bundle())
                    self.assertEqual(len(read.tokens), count)

    def test_every_bit_of_a_small_bundle_matters(self):
        good = memory(3).bundle()
        for position in range(8 * len(good)):
            altered = bytearray(good)
            altered[position // 8] ^= 1 << position % 8
            self.assertRefused("BAD_BUNDLE", bundle.read_bundle, bytes(altered))

    def test_every_cut_is_refused(self):
        good = memory(3).bundle()
        for length in range(len(good)):
            self.assertRefused("BAD_BUNDLE", bundle.read_bundle, good[:length])
        for content in (good + b"\n", b"\n" + good, good.replace(b"\n", b"\r\n"), good * 2):
            self.assertRefused("BAD_BUNDLE", bundle.read_bundle, content)

    def test_every_altered_digest_is_refused(self):
        made = memory()
        for name in ("memoryPseudonym", "tokenRoot", "entriesRoot", "stateDigest", "fingerprint", "auditKey"):
            content = self.altered(made, lambda header, _: header.update({name: maker.digest(3)}))
            self.assertRefused("BUNDLE_DIGEST", verify, content)

    def test_one_unit_in_the_last_place_of_a_weight_is_refused(self):
        made = memory()
        for place in range(5):
            for sign in (1, -1):

                def change(_, tokens):
                    [bits] = struct.unpack("<q", struct.pack("<d", float.fromhex(tokens[place]["weight"])))
                    if bits + sign >= 0:
                        tokens[place]["weight"] = maker.hex_double(
                            struct.unpack("<d", struct.pack("<q", bits + sign))[0]
                        )
                    else:
                        tokens[place]["weight"] = "0x1p-1074"

                self.assertRefused(("BUNDLE_DIGEST", "BAD_BUNDLE"), verify, self.altered(made, change))
                self.assertRefused(
                    ("BUNDLE_WEIGHT", "BAD_BUNDLE"),
                    verify,
                    self.refreshed(made, change) if self.readable(made, change) else b"",
                )

    def readable(self, made, change):
        try:
            bundle.read_bundle(self.altered(made, change))
        except Refused:
            return False
        return True

    def test_another_class_is_refused(self):
        made = memory()
        for place in range(5):
            for letter in "SER":

                def change(_, tokens):
                    tokens[place]["class"] = letter

                header, tokens = made.bundle_lines()
                if tokens[place]["class"] != letter:
                    self.assertRefused(("NOT_OPTIMAL", "BUNDLE_WEIGHT"), verify, self.refreshed(made, change))

    def test_one_bit_of_a_key_is_refused_where_it_carries_weight(self):
        made = memory()
        header, tokens = made.bundle_lines()
        for place, token in enumerate(tokens):

            def change(_, altered):
                content = bytearray(base64.b64decode(altered[place]["key"]))
                content[6] ^= 1
                altered[place]["key"] = maker.b64(content)

            self.assertRefused("BUNDLE_DIGEST", verify, self.altered(made, change))
            if token["class"] != "R":
                self.assertRefused(("NOT_OPTIMAL", "BUNDLE_WEIGHT", "BUNDLE_RHO"), verify, self.refreshed(made, change))

    def test_another_commitment_id_subject_or_value_is_refused(self):
        made = memory()
        changes = [
            lambda _, t: t[0].update(commitment=maker.digest(3)),
            lambda _, t: t[0].update(id="a"),
            lambda _, t: t[1].update(value=t[0]["value"]),
            lambda _, t: t.pop(),
            lambda _, t: t.append({**t[-1], "id": "z"}),
            lambda h, _: h.update(rho="0x1p-1"),
            lambda h, _: h.update(gamma="0x1p-2"),
            lambda h, _: h.update(ridge="0x1p-10"),
            lambda h, _: h.update(boxBound="2/(2*s-1), s=4"),
            lambda h, _: h.update(memory="tenants/t/memories/n"),
        ]
        for number, change in enumerate(changes):
            with self.subTest(number=number):
                self.assertRefused(("BUNDLE_DIGEST", "BAD_BUNDLE"), verify, self.altered(made, change))

    def test_other_forms_are_refused(self):
        made = memory()
        changes = [
            lambda h, _: h.update(more="x"),
            lambda h, _: h.pop("rho"),
            lambda h, _: h.update(format="expunge-audit-bundle-v2"),
            lambda h, _: h.update(tokenCount="4"),
            lambda h, _: h.update(rho="-0x0p+0"),
            lambda h, _: h.update(rho="inf"),
            lambda h, _: h.update(gamma="0x0p+0"),
            lambda h, _: h.update(boxBound="2/(2*s-1), s=0"),
            lambda h, _: h.update(boxBound="-0x1p+0"),
            lambda h, _: h.update(scope="ALL"),
            lambda h, _: h.update(keyDimension="3"),
            lambda h, _: h.update(created="yesterday"),
            lambda h, _: h.update(memory="m"),
            lambda _, t: t.reverse(),
            lambda _, t: t[0].update(id=t[1]["id"]),
            lambda _, t: t[0].update(id=""),
            lambda _, t: t[0].update(id="a/b"),
            lambda _, t: t[0].update(subjects=[]),
            lambda _, t: t[0].update(subjects=["b", "a"]),
            lambda _, t: t[0].update(subjects=["a", "a"]),
            lambda _, t: t[0].update(key=maker.b64(struct.pack("<2d", 1.0, float("nan")))),
            lambda _, t: t[0].update({"class": "X"}),
            lambda _, t: t[0].update(key=maker.b64(struct.pack("<2d", 1.0, -0.0))),
            lambda _, t: t[0].update(weight="-0x0p+0"),
            lambda _, t: t[0].update(weight="-0x1p-3"),
            lambda _, t: t[0].update(more="x"),
            lambda _, t: t[0].update(commitment="00"),
        ]
        for number, change in enumerate(changes):
            with self.subTest(number=number):
                self.assertRefused("BAD_BUNDLE", bundle.read_bundle, self.altered(made, change))

    def test_the_project_s_own_bundle_passes(self):
        with open(os.path.join(GOLDEN, "audit_bundle.jsonl"), "rb") as file:
            read = verify(file.read())
        self.assertEqual("".join(read.partition), "SSSSRE")


class ProofTest(VerifyTest):
    """Bounds in certificates: true ones pass, and a unit in the last place beyond the truth does not."""

    def setUp(self):
        super().setUp()
        made = memory()
        self.proof = made.state()["proof"]
        self.bundle = bundle.read_bundle(made.bundle())
        self.solved = bundle.solve_again(self.bundle)

    def check(self, **changes):
        proof.check_proof(self.bundle, *self.solved, {**self.proof, **changes})

    def test_true_bounds_pass(self):
        self.check()
        self.check(
            marginLower="0x0p+0",
            weightDistanceLower="0x0p+0",
            eigenvalueLower="0x0p+0",
            dualityGapUpper="inf",
            eta="inf",
            strict=False,
            ties="4",
        )

    def test_bounds_that_are_none_are_refused(self):
        for name in ("marginLower", "weightDistanceLower", "eigenvalueLower"):
            for factor in (1 + 2.0**-39, 2.0):
                self.assertRefused(
                    "BUNDLE_PROOF",
                    lambda: self.check(**{name: maker.hex_double(float.fromhex(self.proof[name]) * factor)}),
                )
            self.assertRefused("BUNDLE_PROOF", lambda: self.check(**{name: "inf"}))
        for changes in ({"eta": "0x0p+0"}, {"eta": "0x1p-60"}, {"dualityGapUpper": "0x0p+0"}):
            self.assertRefused("BUNDLE_PROOF", lambda: self.check(**changes))

    def test_the_duality_gap_is_small_and_not_negative(self):
        gap = proof.duality_gap(self.bundle, self.solved[0])
        self.assertGreaterEqual(gap, 0)
        self.assertLess(gap, 2.0**-50)


if __name__ == "__main__":
    main()
