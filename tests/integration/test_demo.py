"""The demo holds, with exactly the claims that it makes; it fails, and says so, where a part is missing."""

import json
import os
import sys

from harness import EXAMPLES, ProgramTest, main

STEPS = 11
# One less for each verifier that is not installed here.
MIN_CLAIMS = 33
MAX_SECONDS = 60
VERIFIERS = ("openssl", "securesystemslib", "sumdb", "expunge_verify")


class DemoTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.done, cls.summary = cls().run_demo(os.environ["EXPUNGE_BIN"], code=0)

    def runTest(self):
        """Lets setUpClass make an instance; no test of its own."""

    def run_demo(self, binaries, code, env=None):
        summary = self.path("summary.json")
        done = self.run_program(sys.executable, "-B", os.path.join(EXAMPLES, "demo.py"), "--bin", binaries, "--json", summary,
                                "--page", self.path("page.html"), code=code, env=env)
        with open(summary, encoding="utf-8") as file:
            return done, json.load(file)

    def test_every_step_holds_in_under_a_minute(self):
        self.assertTrue(self.summary["held"])
        self.assertIsNone(self.summary["error"])
        self.assertEqual(len(self.summary["steps"]), STEPS)
        claims = [claim for step in self.summary["steps"] for claim in step["claims"]]
        self.assertTrue(all(claim["held"] for claim in claims))
        skipped = sum(len(step.get("skipped", ())) for step in self.summary["steps"])
        self.assertGreaterEqual(len(claims) + skipped, MIN_CLAIMS)
        self.assertLess(self.summary["seconds"], MAX_SECONDS)
        self.assertIn(f"All {STEPS} steps held", self.done.stdout)

    def test_the_numbers_are_the_known_ones(self):
        # States are canonical: the same input gives the same bits on every machine and with every compiler.
        self.assertEqual(self.summary["facts"]["agreement"], [54, 57])
        self.assertEqual(self.summary["facts"]["fingerprint"],
                         "27e27587a1c05d912be295286cffcec299f367a47370dcedebbac86cb8f38220")

    def test_it_ends_with_the_verdicts_of_four_verifiers(self):
        last = self.summary["steps"][-1]
        told = [claim["claim"] for claim in last["claims"]] + last.get("skipped", [])
        self.assertEqual({text.split(":")[0] for text in told}, set(VERIFIERS))
        solved = [text for text in told if text.startswith("expunge_verify: ACCEPTED")]
        self.assertIn("511 tokens solved again", solved[0])
        with open(self.path("page.html"), encoding="utf-8") as file:
            self.assertIn("<html", file.read())

    def test_a_verifier_that_is_not_installed_gives_no_verdict_and_says_how(self):
        done, summary = self.run_demo(os.environ["EXPUNGE_BIN"], code=0, env={"EXPUNGE_INDEPENDENT": self.path("nothing")})
        self.assertEqual([text.split(":")[:2] for text in summary["steps"][-1]["skipped"]],
                         [["securesystemslib", " NO VERDICT"], ["sumdb", " NO VERDICT"]])
        self.assertIn("apt install golang-go golang-golang-x-mod-dev", done.stdout)
        self.assertIn("Not looked at: 2", done.stdout)

    def test_the_directory_is_removed(self):
        self.assertNotIn("Everything is in", self.done.stdout)

    def test_a_missing_program_fails_the_demo(self):
        done, summary = self.run_demo(self.directory, code=1)
        self.assertFalse(summary["held"])
        self.assertIn("is not there: build first", done.stdout)


if __name__ == "__main__":
    main()
