"""securesystemslib, the library of TUF and in-toto, verifies every certificate as a DSSE envelope, and none that was altered."""

import glob
import json
import os

from live import LiveTest, four, run


class SecuresystemslibTest(LiveTest):
    def signer(self, path):
        with open(path, encoding="ascii") as file:
            key_id = json.load(file)["signatures"][0]["keyid"]
        [pem] = glob.glob(self.file(f"certificate-{key_id[:16]}.pem"))
        return pem

    def test_every_certificate_verifies_under_its_key(self):
        for path in self.certificates():
            self.accepted(four.securesystemslib(four.Files([path], self.signer(path))))

    def test_another_key_and_a_changed_payload_are_refused(self):
        first, last = self.certificates()[0], self.certificates()[-1]
        self.assertNotEqual(self.signer(first), self.signer(last))
        self.refused(four.securesystemslib(four.Files([first], self.signer(last))))
        signer = self.signer(first)
        self.flip(os.path.relpath(first, self.audit), b'{"payload":"')
        self.refused(four.securesystemslib(four.Files([first], signer)))


if __name__ == "__main__":
    run(four.securesystemslib)
