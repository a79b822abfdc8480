"""Puts the package on the path, and helps tests to see how things are refused."""

import os
import random
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
PACKAGE = os.path.join(ROOT, "client", "python")
GOLDEN = os.path.join(ROOT, "tests", "golden")
sys.path.insert(0, PACKAGE)

from expunge_verify.refusal import Refused  # noqa: E402

SEED = 20260712


class VerifyTest(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)

    def assertRefused(self, reasons, check, *arguments):
        """`reasons`: one or more codes; None: any."""
        with self.assertRaises(Refused) as caught:
            check(*arguments)
        if reasons is not None:
            self.assertIn(
                caught.exception.reason, (reasons,) if isinstance(reasons, str) else reasons, caught.exception.message
            )
        return caught.exception


def main():
    print(f"seed {SEED}")
    unittest.main(verbosity=2)
