"""Truncated, altered and foreign certificate files: both verifiers give a reason, never a crash, and agree."""

import json
import os

from harness import ServerTest, binary, main


class CertificateFilesTest(ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        self = cls("test_foreign_files")
        self.filled("memory")
        self.answer("delete", "memory", "--token", "t2", "--out", self.path("good.json"))
        self.answer("cert", "keys", "--out", self.path("key.pem"))
        cls.good = self.read("good.json")

    def verdicts(self, name, content):
        """The reasons of both verifiers for a file with this content; they must refuse it."""
        path, key = self.write(name, content), self.path("key.pem")
        own = self.expunge("--output", "json", "cert", "verify", path, "--key", key, code=1)
        other = self.run_program(binary("expunge-verify"), "--key", key, "--output", "json", path, code=1)
        self.assertEqual(json.loads(own.stderr)["error"]["exit_code"], 1)
        [first], [second] = json.loads(own.stdout)["certificates"], json.loads(other.stdout)["certificates"]
        self.assertFalse(first["verified"] or second["verified"])
        self.assertEqual(first["reason"], second["reason"])
        return first["reason"]

    def test_truncated_files(self):
        size = len(self.good)
        for length in (0, 1, 2, size // 4, size // 2, size - 100, size - 2, size - 1):
            with self.subTest(length=length):
                self.assertIn(self.verdicts("truncated", self.good[:length]), ("EMPTY", "NOT_JSON", "NOT_AN_ENVELOPE"))

    def test_altered_files(self):
        # A byte in every part of the envelope, and something before and after it.
        for position in range(0, len(self.good), max(1, len(self.good) // 23)):
            altered = bytearray(self.good)
            altered[position] ^= 1
            with self.subTest(position=position):
                self.verdicts("altered", bytes(altered))
        for altered in (self.good + b"\n", b" " + self.good, self.good + self.good):
            self.verdicts("altered", altered)

    def test_foreign_files(self):
        for content in (b"{}", b"[]", b"null", b"\x00" * 1000, b"\xff\xfe" * 100, b"[" * 100_000, os.urandom(4096),
                        b"-----BEGIN CERTIFICATE-----\n", b'{"payload":1,"payloadType":2,"signatures":3}'):
            with self.subTest(content=content[:20]):
                self.assertIn(self.verdicts("foreign", content), ("NOT_JSON", "NOT_AN_ENVELOPE"))

    def test_a_certificate_of_another_service(self):
        other = self.write("other.pem", self.foreign_key())
        done = self.expunge("--output", "json", "cert", "verify", self.path("good.json"), "--key", other, code=1)
        self.assertEqual(json.loads(done.stdout)["certificates"][0]["reason"], "UNKNOWN_KEY")
        done = self.expunge("cert", "show", "--file", self.path("good.json"), "--key", other, code=1)
        self.assertIn("UNKNOWN_KEY", done.stderr)
        self.assertEqual(done.stdout, "")
        # Of two keys, one is enough.
        self.expunge("cert", "verify", self.path("good.json"), "--key", other, "--key", self.path("key.pem"))

    def foreign_key(self):
        secret = self.run_program("openssl", "genpkey", "-algorithm", "ed25519", code=0).stdout
        path = self.write("secret.pem", secret)
        return self.run_program("openssl", "pkey", "-in", path, "-pubout", code=0).stdout

    def test_one_bad_file_among_good_ones_is_told(self):
        bad = self.write("bad.json", self.good[:-1])
        done = self.expunge("cert", "verify", self.path("good.json"), bad, "--key", self.path("key.pem"), code=1)
        self.assertIn("good.json: VERIFIED (OK)", done.stdout)
        self.assertIn("bad.json: REFUSED (NOT_JSON)", done.stdout)

    def test_an_unreadable_file_does_not_hide_the_others(self):
        bad, key = self.write("bad.json", self.good[:-1]), self.path("key.pem")
        done = self.expunge("--output", "json", "cert", "verify", "/nonexistent", self.path("good.json"), "--key", key, code=2)
        verdicts = json.loads(done.stdout)
        self.assertFalse(verdicts["verified"])
        self.assertEqual([one["reason"] for one in verdicts["certificates"]], ["UNREADABLE", "OK"])
        done = self.expunge("cert", "verify", bad, "/nonexistent", "--key", key, code=1)
        self.assertIn("bad.json: REFUSED (NOT_JSON)", done.stdout)
        self.assertIn("/nonexistent: REFUSED (UNREADABLE)", done.stdout)

    def test_a_file_larger_than_any_certificate(self):
        with open(self.path("large"), "wb") as file:
            file.truncate((64 << 20) + 2)
        for command in ([binary("expunge"), "cert", "verify"], [binary("expunge-verify")]):
            done = self.run_program(*command, "--key", self.path("key.pem"), self.path("large"), code=1)
            self.assertIn("REFUSED (TOO_LARGE)", done.stdout)

    def test_a_file_named_like_a_verdict_gives_one_line(self):
        name = "bad.json\nother.json: VERIFIED (OK): \x1b[2J"
        path, key = self.write(name, self.good[:-1]), self.path("key.pem")
        for command in ([binary("expunge"), "cert", "verify"], [binary("expunge-verify")]):
            done = self.run_program(*command, "--key", key, path, code=1)
            self.assertEqual(done.stdout.count("\n"), 1)
            self.assertNotIn("\x1b", done.stdout + done.stderr)
            self.assertIn("bad.json\\x0aother.json", done.stdout)

    def test_keys_and_files_that_are_none(self):
        for key in (self.path("good.json"), "/nonexistent", self.directory):
            with self.subTest(key=key):
                self.expunge("cert", "verify", self.path("good.json"), "--key", key, code=2)
                self.run_program(binary("expunge-verify"), "--key", key, self.path("good.json"), code=2)
        self.expunge("cert", "verify", "/nonexistent", "--key", self.path("key.pem"), code=2)


if __name__ == "__main__":
    main()
