"""The demo holds, with exactly the claims that it makes; it fails, and says so, where a part is missing."""

import json
import os
import sys

from harness import EXAMPLES, ProgramTest, main

STEPS = 9
MIN_CLAIMS = 27
MAX_SECONDS = 60


class DemoTest(ProgramTest):
    def run_demo(self, binaries, code):
        summary = self.path("summary.json")
        done = self.run_program(sys.executable, "-B", os.path.join(EXAMPLES, "demo.py"), "--bin", binaries, "--json", summary,
                                code=code)
        with open(summary, encoding="utf-8") as file:
            return done, json.load(file)

    def test_every_step_holds_in_under_a_minute(self):
        done, summary = self.run_demo(os.environ["EXPUNGE_BIN"], code=0)
        self.assertTrue(summary["held"])
        self.assertIsNone(summary["error"])
        self.assertEqual(len(summary["steps"]), STEPS)
        claims = [claim for step in summary["steps"] for claim in step["claims"]]
        self.assertTrue(all(claim["held"] for claim in claims))
        self.assertGreaterEqual(len(claims), MIN_CLAIMS)
        self.assertLess(summary["seconds"], MAX_SECONDS)
        self.assertIn(f"All {STEPS} steps held", done.stdout)

    def test_the_numbers_are_the_known_ones(self):
        # States are canonical: the same input gives the same bits on every machine and with every compiler.
        _, summary = self.run_demo(os.environ["EXPUNGE_BIN"], code=0)
        self.assertEqual(summary["facts"]["agreement"], [54, 57])
        self.assertEqual(summary["facts"]["fingerprint"],
                         "27e27587a1c05d912be295286cffcec299f367a47370dcedebbac86cb8f38220")

    def test_nothing_is_left_behind(self):
        done, _ = self.run_demo(os.environ["EXPUNGE_BIN"], code=0)
        self.assertNotIn("Everything is in", done.stdout)

    def test_a_missing_program_fails_the_demo(self):
        done, summary = self.run_demo(self.directory, code=1)
        self.assertFalse(summary["held"])
        self.assertIn("is not there: build first", done.stdout)


if __name__ == "__main__":
    main()
