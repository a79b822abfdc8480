"""The demo holds, with exactly the claims that it makes; it fails, and says so, where a part is missing."""

import json
import os
import sys

from harness import EXAMPLES, ProgramTest, main

STEPS = 9
MIN_CLAIMS = 27
MAX_SECONDS = 60


class DemoTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.done, cls.summary = cls().run_demo(os.environ["EXPUNGE_BIN"], code=0)

    def runTest(self):
        """Lets setUpClass make an instance; no test of its own."""

    def run_demo(self, binaries, code):
        summary = self.path("summary.json")
        done = self.run_program(sys.executable, "-B", os.path.join(EXAMPLES, "demo.py"), "--bin", binaries, "--json", summary,
                                code=code)
        with open(summary, encoding="utf-8") as file:
            return done, json.load(file)

    def test_every_step_holds_in_under_a_minute(self):
        self.assertTrue(self.summary["held"])
        self.assertIsNone(self.summary["error"])
        self.assertEqual(len(self.summary["steps"]), STEPS)
        claims = [claim for step in self.summary["steps"] for claim in step["claims"]]
        self.assertTrue(all(claim["held"] for claim in claims))
        self.assertGreaterEqual(len(claims), MIN_CLAIMS)
        self.assertLess(self.summary["seconds"], MAX_SECONDS)
        self.assertIn(f"All {STEPS} steps held", self.done.stdout)

    def test_the_numbers_are_the_known_ones(self):
        # States are canonical: the same input gives the same bits on every machine and with every compiler.
        self.assertEqual(self.summary["facts"]["agreement"], [54, 57])
        self.assertEqual(self.summary["facts"]["fingerprint"],
                         "27e27587a1c05d912be295286cffcec299f367a47370dcedebbac86cb8f38220")

    def test_the_directory_is_removed(self):
        self.assertNotIn("Everything is in", self.done.stdout)

    def test_a_missing_program_fails_the_demo(self):
        done, summary = self.run_demo(self.directory, code=1)
        self.assertFalse(summary["held"])
        self.assertIn("is not there: build first", done.stdout)


if __name__ == "__main__":
    main()
