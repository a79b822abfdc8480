"""The example data is what its README says: undoing its derivation gives the source, by its SHA-256."""

import csv
import os
import sys
import unittest

from harness import EXAMPLES, WISCONSIN

sys.path.insert(0, EXAMPLES)
import wisconsin  # noqa: E402  (the script under test)


class WisconsinTest(unittest.TestCase):
    def test_nothing_was_lost_or_changed(self):
        self.assertTrue(wisconsin.check(WISCONSIN))

    def test_the_check_notices_one_changed_digit(self):
        text = wisconsin.read(WISCONSIN)
        with self.subTest("a measurement"):
            changed = text.replace("17.99", "17.98", 1)
            self.assertNotEqual(wisconsin.derive(wisconsin.undo(text)), changed)
        self.assertEqual(wisconsin.derive(wisconsin.undo(text)), text)

    def test_there_are_569_patients_of_two_diagnoses(self):
        with open(WISCONSIN, encoding="ascii", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len({row["token"] for row in rows}), 569)
        self.assertEqual(len({row["patient"] for row in rows}), 569)
        diagnoses = [row["diagnosis"] for row in rows]
        self.assertEqual((diagnoses.count("malignant"), diagnoses.count("benign")), (212, 357))

    def test_the_readme_names_the_source(self):
        with open(os.path.join(EXAMPLES, "README.md"), encoding="utf-8") as file:
            text = file.read()
        for words in (wisconsin.SOURCE_SHA256, "CC BY 4.0", "Wolberg", "Street", "Mangasarian"):
            self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
