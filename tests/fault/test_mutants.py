"""Tests of erasure must notice when a step of it is missing: each mutant is caught by a claim, not by an accident.

A build with fault points leaves a step out when EXPUNGE_MUTATION names it. Each test is run twice, as ctest runs it: whole,
it passes; with the step left out, it fails in the assertion that states the claim.
"""

import os
import re
import subprocess
import sys

from fault import FaultTest, binary, main, search_files, skip_whole_file, sodium
from harness import run
from test_canary import KEY, VALUE, canary_forms

FOLDER = os.path.dirname(os.path.abspath(__file__))
LIMIT_S = 300

# The step; a script of this folder, or a program of the tests and a case of it; the assertion.
MUTANTS = (
    ("seal", "test_canary.py", None, "self.assertEqual(search_files(forms, *paths)[0], [])"),
    ("seal", "test_attacker.py", None, "self.assertIsNotNone(record)"),
    ("vault.overwrite", "test_attacker.py", None, "self.assertEqual(opened, set(names) - gone)"),
    ("vault.overwrite", "test_memory.py", None, "self.assertGreaterEqual(len(destroyed), 2,"),
    ("vault.overwrite", "server/core/core_test", "ByteErasureTest.CiphertextLeavesTheFilesAndTheKeysGoBefore",
     "EXPECT_EQ(changed, 2U)"),
    ("vault.sync_overwritten", "server/core/core_unsynced_loss_test",
     "RandomUnsyncedLossTest.NothingAcknowledgedIsLostAndNothingDeletedReturns", "EXPECT_EQ(vault.find("),
    # The vault has seen more than the database has.
    ("commit.sync", "server/core/core_unsynced_loss_test",
     "RandomUnsyncedLossTest.NothingAcknowledgedIsLostAndNothingDeletedReturns", "ASSERT_TRUE(opened.ok())"),
    ("restore.replay", "server/core/core_test",
     "RestoreTest.WithTheCopyOfTheLedgerNothingThatWasDeletedSinceComesBack", "EXPECT_EQ(Ids(kMemory),"),
    # The program itself sees that an old table is still there, and makes no claim.
    ("erase.force_last_level", "test_canary.py", None, "self.assertLess(time.monotonic(), end,"),
    ("erase.force_last_level", "server/core/core_test",
     "ByteErasureTest.CiphertextLeavesTheFilesAndTheKeysGoBefore", "ASSERT_TRUE(service_->EraseBytes().ok())"),
    ("erase.force_last_level", "storage/storage_erase_test",
     "EraseBytesTest.RocksDbsOwnCompactionLeavesTheDeletedValueInATable", "EXPECT_EQ(EraseDeletedBytes("),
)


class Verdict:
    """How a test ended: `failed` are the lines of the assertions that failed; `accident`: it ended otherwise."""

    def __init__(self, script, case, mutation):
        settings = {name: value for name, value in os.environ.items() if name == "EXPUNGE_BIN" or not name.startswith("EXPUNGE_")}
        settings.update({"EXPUNGE_PATIENCE_S": "15" if mutation else "60", "EXPUNGE_POWER_FAILURES": "15"})
        if mutation:
            settings["EXPUNGE_MUTATION"] = mutation
        if case is None:
            command = [sys.executable, "-B", os.path.join(FOLDER, script)]
        else:
            command = [os.path.join(os.environ["EXPUNGE_BIN"], "..", "tests", script), f"--gtest_filter={case}"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=settings,
                              timeout=LIMIT_S, check=False)
        self.code, self.output = done.returncode, done.stdout + done.stderr
        self.skipped = case is None and "SKIPPED" in done.stderr
        self.failed = self._failed_python() if case is None else self._failed_cpp()

    def _failed_python(self):
        """The line of the deepest call that is in a test's own file."""
        return [text.strip() for text in re.findall(r'File "[^"]*/tests/[^"]*", line \d+, in \w+\n +([^\n]+)\n', self.output)]

    def _failed_cpp(self):
        failed = []
        # A compiler cache may have named the file relative to the build folder: what follows tests/ is the same.
        for path, line in re.findall(r"[^\s:]*\btests/([^\s:]+\.cc):(\d+): Failure", self.output):
            with open(os.path.join(FOLDER, "..", path), encoding="utf-8") as source:
                failed.append(source.read().splitlines()[int(line) - 1].strip())
        return failed

    @property
    def is_claim(self):
        """Failed, and in nothing but assertions."""
        return self.code == 1 and "ERROR:" not in self.output and not re.search(r"Segmentation|Aborted|Sanitizer", self.output)


class MutantsTest(FaultTest):
    def test_each_mutant_is_caught_by_the_claim_that_it_breaks(self):
        whole = {}
        for mutation, script, case, assertion in MUTANTS:
            with self.subTest(mutation=mutation, script=script, case=case):
                if (script, case) not in whole:
                    whole[script, case] = Verdict(script, case, None)
                control = whole[script, case]
                if control.skipped:
                    print(f"{script} is skipped here: {control.output.strip()}")
                    continue
                self.assertEqual(control.code, 0, control.output)
                mutant = Verdict(script, case, mutation)
                self.assertTrue(mutant.is_claim, mutant.output)
                self.assertTrue(any(line.startswith(assertion) for line in mutant.failed), mutant.output)
                print(f"without {mutation}: {script} {case or ''} fails in {assertion}", flush=True)
        self.assertTrue(any(control.code == 0 and not control.skipped for control in whole.values()))

    def test_without_sealing_the_search_finds_the_canary_in_every_form_that_is_stored(self):
        """The control of Fault.Canary: its search does find what the database holds, in the log and in tables."""
        os.environ["EXPUNGE_MUTATION"] = "seal"
        self.addCleanup(os.environ.pop, "EXPUNGE_MUTATION")
        forms = canary_forms()
        stored = {"id raw", "subject raw", "key f64-le raw", "value f64-le raw"}
        server = self.serve()
        self.create("birds", keys=len(KEY), values=len(VALUE))
        tokens = [(f"t{i}", f"s{i}", [i / 7, i * i % 5, -i / 3, 1.5], [float(i), 1.0]) for i in range(10)]
        self.add("birds", [*tokens, ("canary-id-7f3a9c51e8", "canary-subject-b20d64", KEY, VALUE)])
        self.check_found(forms, stored, ".log")
        self.assertEqual(server.stop(), 0)
        server.start()
        self.check_found(forms, stored, ".sst")
        self.answer("delete", "birds", "--token", "canary-id-7f3a9c51e8")
        self.check_found(forms, stored, ".sst")  # deleted, and still there
        self.assertEqual(server.stop(), 0)

    def check_found(self, forms, stored, suffix):
        hits, _, _ = search_files(forms, self.server.data)
        print(f"found: {sorted((form, os.path.basename(path)) for path, form in hits)}")
        self.assertEqual({form for path, form in hits if path.endswith(suffix)}, stored)


if __name__ == "__main__":
    if "with fault points" not in run(binary("expunged"), "--version").stdout:
        skip_whole_file("this build has no fault points (EXPUNGE_FAULT_POINTS)")
    if sodium() is None:
        skip_whole_file("libsodium.so.23 is not installed")
    main()
