"""Certificates: true ones of every kind pass; every bit, cut, other spelling and contradiction is refused."""

import base64
import copy
import glob
import json
import os

import maker
import memories
from support import GOLDEN, VerifyTest, main

from expunge_verify.envelope import verify_envelope
from expunge_verify.keys import PublicKey
from expunge_verify.statement import check_statement

KEY = maker.Key(1)
KEYS = {KEY.key_id: PublicKey(KEY.raw)}


def verify(content, keys=None):
    """The Statement of an envelope."""
    return check_statement(verify_envelope(content, KEYS if keys is None else keys).payload)


def small_memory():
    memory = memories.Memory()
    for i in range(4):
        memory.add(f"t{i}", [i, i * i % 3])
    return memory


class EnvelopeTest(VerifyTest):
    @classmethod
    def setUpClass(cls):
        cls.payload = small_memory().certify()
        cls.good = maker.envelope(cls.payload, KEY)

    def envelope(self, **changes):
        parsed = json.loads(self.good)
        parsed.update(changes)
        return parsed

    def test_a_true_one_passes(self):
        self.assertEqual(verify(self.good).kind, "STATE")

    def test_every_bit_matters(self):
        for position in range(8 * len(self.good)):
            altered = bytearray(self.good)
            altered[position // 8] ^= 1 << position % 8
            self.assertRefused(None, verify, bytes(altered))

    def test_every_cut_is_refused(self):
        for length in range(len(self.good)):
            self.assertRefused(("EMPTY", "NOT_JSON"), verify, self.good[:length])
        for content in (self.good + b"\n", b" " + self.good, self.good * 2, b"\xef\xbb\xbf" + self.good):
            self.assertRefused(("NOT_CANONICAL", "NOT_JSON"), verify, content)

    def test_other_spellings_are_refused(self):
        parsed = self.envelope()
        url_safe = base64.urlsafe_b64encode(base64.b64decode(parsed["signatures"][0]["sig"]))
        sig = parsed["signatures"][0]["sig"]
        cases = [
            ("NOT_CANONICAL", json.dumps(parsed).encode()),
            ("NOT_CANONICAL", json.dumps(dict(reversed(parsed.items())), separators=(",", ":")).encode()),
            ("NOT_CANONICAL", self.good.replace(b"payloadType", b"payload\\u0054ype")),
            ("NOT_CANONICAL", self.good.replace(b"application/", b"application\\/")),
            ("NOT_JSON", self.good.replace(b'{"payload":', b'{"payload":"","payload":', 1)),
            ("NOT_JSON", self.good[:-1] + b',"x":NaN}'),
            ("NOT_JSON", b"[" * 100_000),
            ("NOT_AN_ENVELOPE", self.good[:-1] + b',"x":"y"}'),
            ("NOT_AN_ENVELOPE", b"{}"),
            ("NOT_AN_ENVELOPE", b"[]"),
            ("NOT_AN_ENVELOPE", b"null"),
            ("NOT_AN_ENVELOPE", maker.canonical(self.envelope(signatures={}))),
            ("NOT_AN_ENVELOPE", maker.canonical(self.envelope(signatures=[{"sig": sig}]))),
            ("WRONG_PAYLOAD_TYPE", maker.canonical(self.envelope(payloadType="text/plain"))),
            ("BAD_BASE64", maker.canonical(self.envelope(payload=parsed["payload"] + "="))),
            ("BAD_BASE64", maker.canonical(self.envelope(payload=" " + parsed["payload"]))),
            ("SIGNATURE_COUNT", maker.canonical(self.envelope(signatures=[]))),
            ("SIGNATURE_COUNT", maker.canonical(self.envelope(signatures=parsed["signatures"] * 2))),
            (
                "BAD_SIGNATURE",
                maker.canonical(self.envelope(signatures=[{"keyid": KEY.key_id, "sig": maker.b64(bytes(64))}])),
            ),
            (
                "BAD_SIGNATURE",
                maker.canonical(self.envelope(signatures=[{"keyid": KEY.key_id, "sig": maker.b64(bytes(63))}])),
            ),
            ("UNKNOWN_KEY", maker.envelope(self.payload, maker.Key(2))),
        ]
        if url_safe.decode() != sig:
            cases.append(
                (
                    "BAD_BASE64",
                    maker.canonical(self.envelope(signatures=[{"keyid": KEY.key_id, "sig": url_safe.decode()}])),
                )
            )
        for reason, content in cases:
            with self.subTest(reason=reason, content=content[:60]):
                self.assertRefused(reason, verify, content)

    def test_stray_bits_of_base64_are_refused(self):
        sig = json.loads(self.good)["signatures"][0]["sig"]
        self.assertTrue(sig.endswith("=="))
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        for stray in range(1, 16):
            letter = alphabet[alphabet.index(sig[-3]) ^ stray]
            self.assertRefused(
                "BAD_BASE64", verify, self.good.replace(sig.encode(), (sig[:-3] + letter + "==").encode())
            )

    def test_a_file_of_more_than_64_mib_is_refused(self):
        self.assertRefused("TOO_LARGE", verify, b" " * ((64 << 20) + 1))

    def test_the_public_key_is_one(self):
        self.assertEqual(PublicKey.from_pem(KEY.pem).key_id, KEY.key_id)
        for content in (b"", b"-----BEGIN PUBLIC KEY-----\n", KEY.pem[:-30], b"x"):
            self.assertRaises(ValueError, PublicKey.from_pem, content)


class StatementTest(VerifyTest):
    @classmethod
    def setUpClass(cls):
        memory = small_memory()
        cls.state = memory.certify()
        cls.deletion = memory.remove("t1")
        cls.purged = memory.purge_files(cls.deletion)
        cls.purge = memory.remove("t0", "t2", kind="PURGE")
        cls.emptied = memory.remove("t3", kind="MEMORY_DELETION")
        cls.payloads = [cls.state, cls.deletion, cls.purged, cls.purge, cls.emptied]

    def changed(self, payload, change):
        """A payload whose predicate was changed, in its one form, with the subject that fits."""
        predicate = json.loads(payload)["predicate"]
        change(predicate)
        return memories.statement(predicate)

    def test_every_kind_passes(self):
        kinds = [check_statement(payload).kind for payload in self.payloads]
        self.assertEqual(kinds, ["STATE", "DELETION", "DELETION", "PURGE", "MEMORY_DELETION"])

    def places(self, value, path=()):
        """Paths of all fields, at every depth."""
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for name, inner in items:
            yield path + (name,)
            yield from self.places(inner, path + (name,))

    @staticmethod
    def at(value, path):
        for name in path:
            value = value[name]
        return value

    def test_no_field_may_be_absent_renamed_or_of_another_type(self):
        for payload in self.payloads:
            predicate = json.loads(payload)["predicate"]
            for path in self.places(predicate):
                if not isinstance(path[-1], str):
                    continue
                for change in (
                    lambda parent, name: parent.pop(name),
                    lambda parent, name: parent.update({name + "x": parent.pop(name)}),
                    lambda parent, name: parent.update({name: {}}),
                    lambda parent, name: parent.update({name: None}),
                    lambda parent, name: parent.update({name: 7}),
                    lambda parent, name: parent.update({"another": "x"}),
                ):
                    altered = copy.deepcopy(predicate)
                    change(self.at(altered, path[:-1]), path[-1])
                    try:
                        content = memories.statement(altered)
                    except (KeyError, TypeError):
                        continue  # the subject's own fields are gone
                    with self.subTest(path=path):
                        self.assertRefused(("MALFORMED_STATEMENT", "NOT_CANONICAL"), check_statement, content)

    def test_values_of_other_forms_are_refused(self):
        bad = {
            "issued": [
                "2026-03-01T00:00:60Z",
                "2026-02-30T00:00:00Z",
                "2026-03-01 00:00:00Z",
                "2026-03-01T00:00:00+00:00",
                "",
                "2026-03-01T00:00:00.5Z",
            ],
            "kind": ["", "deletion", "OTHER"],
            "removedCount": ["01", "+1", "-1", "1.0", "", "18446744073709551616"],
        }
        for name, values in bad.items():
            for value in values:
                with self.subTest(name=name, value=value):
                    self.assertRefused(
                        "MALFORMED_STATEMENT",
                        check_statement,
                        self.changed(self.deletion, lambda p: p.update({name: value})),
                    )
        for name in ("gamma", "ridge"):
            for value in ("0x0p+0", "inf", "-0x1p+0", "nan", "0x1.0p+0", "1.0"):
                self.assertRefused(
                    "MALFORMED_STATEMENT",
                    check_statement,
                    self.changed(self.deletion, lambda p: p["algorithm"].update({name: value})),
                )

    def test_contradictions_are_refused(self):
        for name, payload, change in self.contradictions():
            with self.subTest(name=name):
                self.assertRefused("MALFORMED_STATEMENT", check_statement, self.changed(payload, change))

    def contradictions(self):
        def put(*path):
            def change(predicate):
                *parents, name, value = path
                self.at(predicate, parents)[name] = value

            return change

        yield "counts of a state", self.state, put("after", "tokenCount", "5")
        yield "counts before", self.deletion, put("before", "tokenCount", "5")
        yield "an empty tree", self.state, put("after", "tokenRoot", maker.sha256(b"").hex())
        yield "no margin, a distance", self.state, put("after", "proof", "weightDistanceLower", "inf")
        yield "no tie, not strict", self.state, put("after", "proof", "strict", False)
        yield "a predecessor of the first", self.state, put("memory", "previousPayloadSha256", maker.digest(9))
        yield "no predecessor", self.deletion, put("memory", "previousPayloadSha256", "0" * 64)
        yield "sequence 0", self.state, put("memory", "sequence", "0")
        yield "removedCount", self.deletion, put("removedCount", "2")
        yield "order", self.purge, lambda predicate: predicate["removed"].reverse()
        yield "a token twice", self.purge, lambda predicate: predicate["removed"].__setitem__(
            1, predicate["removed"][0]
        )
        yield "classes", self.purge, lambda predicate: [token.update(classBefore="E") for token in predicate["removed"]]
        yield "the epoch", self.deletion, put("after", "epoch", "0")
        yield "tokens of the request", self.deletion, put("request", "tokens", "2")
        yield "memories of a deletion", self.deletion, lambda predicate: predicate["request"].update(
            tokens="3", memories="2"
        )
        yield "memories of a purge", self.purge, lambda predicate: predicate["request"].update(tokens="3", memories="3")
        yield "residuals of the first stage", self.deletion, lambda predicate: predicate["erasure"]["residuals"].pop(0)
        yield "a residual twice", self.deletion, lambda predicate: predicate["erasure"]["residuals"].append(
            predicate["erasure"]["residuals"][1]
        )
        yield "residuals of the second stage", self.purged, lambda predicate: predicate["erasure"]["residuals"].insert(
            0, {"what": "SEALED_BYTES", "text": "t", "expires": ""}
        )
        yield "a stage without its fields", self.deletion, put("erasure", "stage", "PHYSICALLY_PURGED")
        yield "the other stage's method", self.purged, put("erasure", "method", "KEY_DESTRUCTION")
        yield "completes itself", self.purged, put("completes", "sequence", "3")
        yield "completes another", self.purged, put("completes", "payloadSha256", maker.digest(9))
        yield "a removed token is another one", self.deletion, put("removed", 0, "handle", maker.digest(9))
        yield "a transition of another tree", self.deletion, put("before", "tokenRoot", maker.digest(9))
        yield "no transition", self.deletion, put("transition", [])
        yield "purged later than said", self.purged, put("erasure", "purged", "2026-04-01T00:00:00Z")
        yield "a memory that is deleted, and is not", self.deletion, put("kind", "MEMORY_DELETION")

    def test_the_subject_is_the_state_after(self):
        parsed = json.loads(self.deletion)
        for change in (
            lambda s: s[0].update(name=maker.digest(5)),
            lambda s: s[0]["digest"].update(hmacSha256=maker.digest(5)),
            lambda s: s.append(s[0]),
            lambda s: s.clear(),
            lambda s: s[0]["digest"].update(sha256=maker.digest(5)),
        ):
            altered = copy.deepcopy(parsed)
            change(altered["subject"])
            self.assertRefused("MALFORMED_STATEMENT", check_statement, maker.canonical(altered))

    def test_other_types_and_spellings_are_refused(self):
        parsed = json.loads(self.state)
        cases = {
            "WRONG_STATEMENT_TYPE": maker.canonical({**parsed, "_type": "https://in-toto.io/Statement/v2"}),
            "WRONG_PREDICATE_TYPE": maker.canonical({**parsed, "predicateType": "urn:expunge:certificate:v2"}),
            "NOT_CANONICAL": json.dumps(parsed).encode(),
            "MALFORMED_STATEMENT": b"not json",
        }
        for reason, content in cases.items():
            self.assertRefused(reason, check_statement, content)
        self.assertRefused("NOT_CANONICAL", check_statement, self.state.replace(b"Everything", b"Everyth\xc3\xafng"))
        self.assertRefused(
            "WRONG_PREDICATE_TYPE", check_statement, maker.key_set(1, b"", [maker.key_entry(KEY, "certificate")])
        )


class GoldenTest(VerifyTest):
    def test_the_project_s_own_certificates_pass(self):
        with open(os.path.join(GOLDEN, "test_only_key.pub.pem"), "rb") as file:
            key = PublicKey.from_pem(file.read())
        names = sorted(glob.glob(os.path.join(GOLDEN, "certificate_*.json")))
        kinds = set()
        for name in names:
            with self.subTest(name=os.path.basename(name)), open(name, "rb") as file:
                kinds.add(verify(file.read(), {key.key_id: key}).kind)
        self.assertEqual(kinds, {"DELETION", "MEMORY_DELETION", "PURGE", "SELECTION", "STATE"})


if __name__ == "__main__":
    main()
