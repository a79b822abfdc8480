"""Go's checksum database packages verify the log: every certificate is in it, and it is one history."""

import base64
import os
import shutil

from live import LiveTest, four, run

from expunge_verify.keys import PublicKey
from expunge_verify.note import NoteKey


class SumdbTest(LiveTest):
    def test_the_log_has_every_certificate_and_begins_as_kept(self):
        text = self.accepted(four.sumdb(self.files()))
        self.assertEqual(text.count("entry "), len(self.certificates()))
        self.assertIn("begins as", text)

    def test_a_certificate_that_the_log_does_not_have_is_refused(self):
        self.flip(os.path.relpath(self.certificates()[0], self.audit), b'"sig":"')
        self.refused(four.sumdb(self.files()))

    def test_the_proof_of_another_certificate_is_refused(self):
        first, second = (path.replace(".json", ".tlog-proof") for path in self.certificates()[:2])
        shutil.copy(second, first)
        self.refused(four.sumdb(self.files()))

    def test_a_changed_proof_checkpoint_or_tile_is_refused(self):
        for name in (
            os.path.relpath(self.certificates()[0], self.audit).replace(".json", ".tlog-proof"),
            "log/checkpoint",
            "old_checkpoint",
        ):
            with self.subTest(name=name):
                with open(self.file(name), "rb") as file:
                    good = file.read()
                self.flip(name)
                self.refused(four.sumdb(self.files()))
                with open(self.file(name), "wb") as file:
                    file.write(good)
        self.accepted(four.sumdb(self.files()))
        shutil.rmtree(self.file("log/tile/0"))
        self.refused(four.sumdb(self.files()))

    def test_another_key_of_the_log_is_refused(self):
        with open(self.file("log.vkey"), encoding="ascii") as file:
            name = file.read().split("+")[0]
        # The key in sumdb's own documentation, under our log's name.
        raw = base64.b64decode("ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
        with open(self.file("log.vkey"), "w", encoding="ascii") as file:
            file.write(NoteKey(name, PublicKey(raw[1:])).vkey)
        self.refused(four.sumdb(self.files()))


if __name__ == "__main__":
    run(four.sumdb)
