"""expunge_verify accepts what the service hands over, solves its bundles again, and refuses one altered bit anywhere."""

import base64
import hashlib
import json
import os
import struct

from live import LiveTest, binary, four, run

from expunge_verify import bundle as bundles
from expunge_verify.forms import canonical_json, hex_double


class ExpungeVerifyTest(LiveTest):
    def test_everything_that_was_handed_over_verifies(self):
        for name, tokens in (("cancer", 565), ("ties", 19), ("kept", 34)):
            text = self.accepted(four.expunge_verify(self.files(bundle=self.file(f"{name}.jsonl"))))
            self.assertIn(f"{tokens} tokens solved again", text)

    def test_expunge_verify_in_cpp_agrees(self):
        for name in ("cancer", "ties", "kept"):
            given = self.files(bundle=self.file(f"{name}.jsonl"))
            options = [
                "--key",
                given.key,
                "--keys",
                given.keys,
                "--log",
                given.log,
                "--old-checkpoint",
                given.old_checkpoint,
            ]
            options += ["--receipts", given.receipts, "--bundle", given.bundle]
            self.run_program(binary("expunge-verify"), *options, self.file("certificates"), code=0)

    def test_a_withheld_certificate_is_noticed(self):
        directory = self.file("certificates")
        self.accepted(four.expunge_verify(self.files(certificates=[directory])))
        os.remove(self.certificates()[0])
        self.assertIn("CHAIN_GAP", self.refused(four.expunge_verify(self.files(certificates=[directory]))))

    def altered(self, change):
        """The bundle of "cancer" after `change(header, tokens)`, every digest in it computed again: only what was altered is wrong."""
        with open(self.file("cancer.jsonl"), "rb") as file:
            lines = [json.loads(line) for line in file.read().splitlines()]
        header, tokens = lines[0], lines[1:-1]
        change(header, tokens)
        self.write_bundle(header, tokens)
        with open(self.file("cancer.jsonl"), "rb") as file:
            read = bundles.read_bundle(file.read())
        digests = bundles.Digests(read)
        header.update(
            tokenRoot=digests.token_root().hex(),
            entriesRoot=digests.entries_root().hex(),
            stateDigest=digests.state_digest().hex(),
            fingerprint=bundles.fingerprint(read).hex(),
        )
        self.write_bundle(header, tokens)
        return self.refused(four.expunge_verify(self.files()))

    def write_bundle(self, header, tokens):
        body = b"".join(canonical_json(line) + b"\n" for line in (header, *tokens))
        with open(self.file("cancer.jsonl"), "wb") as file:
            file.write(
                body + canonical_json({"sha256": hashlib.sha256(body).hexdigest(), "tokens": str(len(tokens))}) + b"\n"
            )

    @staticmethod
    def first(tokens, letter):
        return next(token for token in tokens if token["class"] == letter)

    def test_one_bit_of_a_weight_is_refused(self):
        def change(_, tokens):
            token = self.first(tokens, "S")
            [bits] = struct.unpack("<q", struct.pack("<d", float.fromhex(token["weight"])))
            token["weight"] = hex_double(struct.unpack("<d", struct.pack("<q", bits ^ 1))[0])

        self.assertIn("BUNDLE_WEIGHT", self.altered(change))

    def test_one_class_is_refused(self):
        self.assertIn("NOT_OPTIMAL", self.altered(lambda _, tokens: self.first(tokens, "R").update({"class": "S"})))
        self.setUpAgain()
        self.assertIn(
            "NOT_OPTIMAL",
            self.altered(lambda _, tokens: self.first(tokens, "S").update({"class": "R", "weight": "0x0p+0"})),
        )

    def setUpAgain(self):
        with open(self.path("audit/cancer.jsonl"), "rb") as source, open(self.file("cancer.jsonl"), "wb") as copy:
            copy.write(source.read())

    def test_one_bit_of_a_key_is_refused(self):
        def change(_, tokens):
            token = self.first(tokens, "S")
            key = bytearray(base64.b64decode(token["key"]))
            key[0] ^= 1
            token["key"] = base64.b64encode(key).decode("ascii")

        text = self.altered(change)
        self.assertTrue(any(reason in text for reason in ("BUNDLE_WEIGHT", "BUNDLE_RHO", "BAD_RECEIPT")), text)

    def test_one_commitment_is_refused(self):
        def change(_, tokens):
            tokens[5]["commitment"] = ("1" if tokens[5]["commitment"][0] == "0" else "0") + tokens[5]["commitment"][1:]

        self.assertIn("BUNDLE_UNRELATED", self.altered(change))

    def test_a_flipped_bit_in_any_file_is_refused(self):
        certificate = os.path.relpath(self.certificates()[0], self.audit)
        for name in (
            "cancer.jsonl",
            "keys.json",
            "old_checkpoint",
            "log/checkpoint",
            certificate,
            certificate.replace(".json", ".tlog-proof"),
        ):
            with self.subTest(name=name):
                with open(self.file(name), "rb") as file:
                    good = file.read()
                self.flip(name)
                self.refused(four.expunge_verify(self.files()))
                with open(self.file(name), "wb") as file:
                    file.write(good)


if __name__ == "__main__":
    run(four.expunge_verify)
