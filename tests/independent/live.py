"""What an auditor is handed by a running service, for the tests in this folder: real certificates, proofs, keys, log and bundles.

A service holds patients' data and a small memory full of ties, removes, certifies, rotates its key and is stopped. What is left is
a directory with the files that docs/audit.md names. Checks run on copies of it.
"""

import glob
import os
import random
import shutil
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
sys.path[:0] = [
    os.path.join(ROOT, "tests", "integration"),
    os.path.join(ROOT, "client", "independent"),
    os.path.join(ROOT, "client", "python"),
]

import four  # noqa: E402
from harness import WISCONSIN, ProgramTest, Server, binary, main  # noqa: E402,F401

SKIP = 77
PATIENCE_S = 60
SEED = 20260714
COLUMNS = [
    "--csv",
    WISCONSIN,
    "--key-columns",
    "4-33",
    "--one-hot",
    "diagnosis",
    "--subject-columns",
    "patient",
    "--id-column",
    "token",
]


class LiveTest(ProgramTest):
    """One history, made once for the class; each test has a copy of its files under self.audit."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls(unittest.TestLoader().getTestCaseNames(cls)[0]).make_history()

    def setUp(self):
        self.audit = self.path(self._testMethodName)
        shutil.copytree(self.path("audit"), self.audit)

    def make_history(self):
        cls = type(self)
        cls.server = Server(self.directory, "--erase-bytes-within", "1s")
        cls.server.start()
        try:
            self.work()
        finally:
            code = cls.server.stop()
        self.assertEqual(code, 0)
        shutil.copytree(os.path.join(cls.server.data, "log"), self.path("audit/log"))
        cls.server = None

    def work(self):
        os.makedirs(self.path("audit/certificates"))
        self.answer("cert", "keys", "--out", self.path("audit/issuer.pem"))
        self.patients()
        self.ties()
        self.selection()
        shutil.copy(os.path.join(self.server.data, "log", "checkpoint"), self.path("audit/old_checkpoint"))
        self.expunge("--admin", f"unix:{self.server.data}/admin.sock", "keys", "rotate", "--use", "certificate")
        self.answer(
            "purge", "--subject", "patient-007", "--legal-basis", "GDPR Art. 17(1)(b)", "--out-dir", self.path("purged")
        )
        self.answer("certify", "cancer", "--nonce", "00ff")
        self.answer("memory", "delete", "gone")
        self.wait_for_purged(6)
        self.hand_over()

    def patients(self):
        self.create("cancer", "30", "2", "1/30", "50")
        self.answer(
            "import",
            "cancer",
            *COLUMNS,
            "--standardize",
            "--standardization",
            self.path("standardization.json"),
            "--receipts",
            self.path("audit/receipts.jsonl"),
        )
        self.answer("delete", "cancer", "--token", "fna-001", "--token", "fna-100", "--token", "fna-200")

    def ties(self):
        """Equal keys, symmetric ones, far ones whose kernel values are subnormal, and a memory that is emptied."""
        points = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1)] * 2 + [(26.6, 0), (0, -27.2)]
        for memory, rows in (("ties", points), ("gone", points[:4])):
            self.create(memory, "2", "1", "1", "4")
            self.fill(memory, [f"t{i},s{i % 5},{x},{y},{i / 4}" for i, (x, y) in enumerate(rows)])
        self.answer("delete", "ties", "--token", "t4")

    def selection(self):
        """A memory that dropped tokens without weight, and then lost one with weight."""
        generator = random.Random(SEED)
        self.create("kept", "2", "1", "0.5", "3")
        rows = [f"t{i},s{i},{generator.gauss(0, 1)},{generator.gauss(0, 1)},{i}" for i in range(40)]
        self.fill("kept", rows)
        self.answer("evict", "kept", "--count", "5")
        heaviest = max(self.answer("tokens", "kept")["tokens"], key=lambda token: token["weight"])
        self.answer("delete", "kept", "--token", heaviest["token_id"])

    def fill(self, memory, rows):
        path = self.write(f"{memory}.csv", "\n".join(["id,who,x,y,v", *rows]) + "\n")
        columns = ["--key-columns", "x,y", "--value-columns", "v", "--id-column", "id", "--subject-columns", "who"]
        self.answer("import", memory, "--csv", path, *columns, "--receipts", self.path("audit/receipts.jsonl"))

    def create(self, memory, keys, values, gamma, min_support):
        self.answer(
            "memory",
            "create",
            memory,
            "--key-dimension",
            keys,
            "--value-dimension",
            values,
            "--gamma",
            gamma,
            "--min-support",
            min_support,
        )

    def wait_for_purged(self, count):
        end = time.monotonic() + PATIENCE_S
        while True:
            stages = [one["stage"] for one in self.answer("cert", "list")["certificates"]]
            if stages.count("PHYSICALLY_PURGED") >= count:
                return
            self.assertLess(time.monotonic(), end, stages)
            time.sleep(0.1)

    def hand_over(self):
        """What docs/audit.md says that an auditor holds."""
        self.answer("cert", "export", self.path("audit/certificates"))
        self.answer("keys", "export", self.path("audit"), "--key", self.path("audit/issuer.pem"))
        for memory in ("cancer", "ties", "kept"):
            self.answer("audit", "export", memory, "--out", self.path(f"audit/{memory}.jsonl"))

    # For the tests.

    def file(self, name):
        return os.path.join(self.audit, name)

    def certificates(self):
        return sorted(glob.glob(self.file("certificates/*.json")))

    def files(self, **changes):
        """All of it, as the four verifiers take it."""
        given = {
            "certificates": self.certificates(),
            "key": self.file("issuer.pem"),
            "vkey": self.file("log.vkey"),
            "keys": self.file("keys.json"),
            "log": self.file("log"),
            "old_checkpoint": self.file("old_checkpoint"),
            "receipts": self.file("receipts.jsonl"),
            "bundle": self.file("cancer.jsonl"),
            **changes,
        }
        return four.Files(**given)

    def flip(self, name, needle=None):
        """Flips a bit: in the middle of the file, or of the first place where `needle` stands."""
        with open(self.file(name), "rb") as file:
            content = bytearray(file.read())
        place = len(content) // 2 if needle is None else content.index(needle) + len(needle)
        content[place] ^= 1
        with open(self.file(name), "wb") as file:
            file.write(content)

    def accepted(self, verdict):
        self.assertIs(verdict.accepted, True, verdict)
        return verdict.text

    def refused(self, verdict):
        self.assertIs(verdict.accepted, False, verdict)
        return verdict.text


def run(verifier):
    """Runs the tests of a file, unless its verifier is not installed here: then says so, and is skipped."""
    found = (
        verifier(four.Files([], os.devnull, os.devnull)) if verifier in (four.securesystemslib, four.sumdb) else None
    )
    if found is not None and found.accepted is None:
        print(f"SKIPPED: {found.name}: {found.text}")
        sys.exit(SKIP)
    main()
