"""OpenSSL alone verifies the signature of every certificate, and of none that was altered."""

import glob
import json
import os

from live import LiveTest, four, run


class OpensslTest(LiveTest):
    def by_key(self):
        """Certificates by the PEM of the key that signed them."""
        keys = {}
        for path in self.certificates():
            with open(path, encoding="ascii") as file:
                key_id = json.load(file)["signatures"][0]["keyid"]
            [pem] = glob.glob(self.file(f"certificate-{key_id[:16]}.pem"))
            keys.setdefault(pem, []).append(path)
        return keys

    def test_every_certificate_verifies_under_its_key(self):
        keys = self.by_key()
        self.assertEqual(len(keys), 2)  # the service rotated its key
        for pem, paths in keys.items():
            self.accepted(four.openssl(four.Files(paths, pem)))

    def test_another_key_and_a_changed_payload_are_refused(self):
        (first, paths), (second, _) = self.by_key().items()
        self.refused(four.openssl(four.Files(paths, second)))
        name = os.path.relpath(paths[0], self.audit)
        self.flip(name, b'{"payload":"')
        self.refused(four.openssl(four.Files(paths[:1], first)))


if __name__ == "__main__":
    run(four.openssl)
