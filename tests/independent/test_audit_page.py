"""Every command on docs/audit.md runs as it stands there, in a directory with the files that the page names."""

import os
import re
import shutil
import subprocess

from live import ROOT, LiveTest, four, run

TIMEOUT_S = 300


def page_blocks():
    with open(os.path.join(ROOT, "docs", "audit.md"), encoding="utf-8") as file:
        return re.findall(r"^```sh\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)


class AuditPageTest(LiveTest):
    def hand_over(self):
        """While the service runs: also by the page's own commands, into a directory of their own."""
        super().hand_over()
        os.mkdir(self.path("fetched"))
        [block] = [block for block in page_blocks() if "expunge audit export" in block]
        type(self).fetched = self.shell(block, self.path("fetched"), EXPUNGE_SERVER=self.server.address)

    def setUp(self):
        super().setUp()
        os.symlink(ROOT, self.file("expunge"))
        shutil.copy(self.file("cancer.jsonl"), self.file("bundle.jsonl"))
        # A removal under the first key, as the page calls it.
        first = self.certificates()[0].removesuffix(".json")
        for suffix in (".json", ".tlog-proof"):
            shutil.move(first + suffix, self.file(f"certificates/removal{suffix}"))
        self.blocks = page_blocks()

    @staticmethod
    def shell(block, directory, **environment):
        path = os.environ["EXPUNGE_BIN"] + os.pathsep + os.environ["PATH"]
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=directory,
            env={**os.environ, "PATH": path, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    def block(self, word):
        [found] = [block for block in self.blocks if word in block]
        return found

    def test_every_block_is_run_by_a_test_of_this_file(self):
        words = [
            "expunge audit export",
            "expunge-verify --key issuer.pem certificates/removal.json",
            "expunge-verify --key issuer.pem --keys",
            "expunge cert show",
            "openssl pkeyutl",
            "dsse_securesystemslib.py",
            "sumdb.go",
            "python3 -m expunge_verify",
        ]
        self.assertEqual([self.block(word) for word in words], self.blocks)

    def held(self, word):
        done = self.shell(self.block(word), self.audit)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_fetching(self):
        self.assertEqual(self.fetched.returncode, 0, self.fetched.stdout + self.fetched.stderr)
        names = os.listdir(self.path("fetched"))
        for name in ("issuer.pem", "keys.json", "log.vkey", "bundle.jsonl"):
            self.assertIn(name, names)
        fetched, handed_over = (
            sorted(os.listdir(self.path(f"{folder}/certificates"))) for folder in ("fetched", "audit")
        )
        self.assertEqual(fetched, handed_over)

    def test_with_our_tools(self):
        self.held("expunge-verify --key issuer.pem certificates/removal.json")
        self.held("expunge-verify --key issuer.pem --keys")
        self.assertIn("CERTIFICATE OF REMOVAL", self.held("expunge cert show"))
        self.assertTrue(os.path.getsize(self.file("report.html")) > 1000)

    def test_openssl(self):
        self.assertIn("Verified Successfully", self.held("openssl pkeyutl"))

    def test_securesystemslib(self):
        if four.securesystemslib(self.files()).accepted is None:
            self.skipTest("PyPI could not be reached when the verifiers were prepared")
        self.assertIn("1 valid signature", self.held("dsse_securesystemslib.py"))

    def test_sumdb(self):
        if four.sumdb(self.files()).accepted is None:
            self.skipTest("Go is not installed")
        self.assertIn("begins as", self.held("sumdb.go"))

    def test_expunge_verify(self):
        self.assertTrue(self.held("python3 -m expunge_verify").endswith("\nVERIFIED\n"))


if __name__ == "__main__":
    run(four.openssl)
