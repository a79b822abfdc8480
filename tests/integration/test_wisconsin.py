"""The example data is what its README says: undoing its derivation gives the source, by its SHA-256."""

import csv
import os
import sys
import tempfile
import unittest

from harness import EXAMPLES, WISCONSIN

sys.path.insert(0, EXAMPLES)
import wisconsin  # noqa: E402  (the script under test)


class WisconsinTest(unittest.TestCase):
    def test_nothing_was_lost_or_changed(self):
        self.assertTrue(wisconsin.check(WISCONSIN))

    def test_the_check_notices_one_changed_character(self):
        text = wisconsin.read(WISCONSIN)
        for old, new in (("17.99", "17.98"), ("patient-500", "patient-501"), ("fna-001,", "fna-0001,"), ("malignant", "benign")):
            with self.subTest(new), tempfile.NamedTemporaryFile("w", encoding="ascii", newline="") as changed:
                changed.write(text.replace(old, new, 1))
                changed.flush()
                self.assertFalse(wisconsin.check(changed.name))

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
