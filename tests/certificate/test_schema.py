"""docs/formats/certificate.schema.json: it accepts every kind and stage, and whatever it refuses in the form of a field
the verifier refuses, too."""

import base64
import copy
import json
import os
import pathlib
import subprocess
import unittest

from jsonschema import Draft202012Validator

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/formats/certificate.schema.json").read_text())
TOOL = os.path.join(os.environ["EXPUNGE_BIN"], "payload_reasons")

# Any text will do there; and where it may be empty.
FREE = {"name", "software", "version", "commit", "boxBound", "spec", "specVersion", "reference", "arithmetic", "boundary",
        "custody", "text", "condition", "legalBasis", "notClaimed"}
MAY_BE_EMPTY = {"legalBasis", "nonce", "due", "expires"}


def encode(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def walk(value, path=()):
    """Every value, with its path. Of long lists the first three and the last, as all have one form."""
    yield path, value
    if isinstance(value, dict):
        for key in value:
            yield from walk(value[key], path + (key,))
    elif isinstance(value, list):
        for index in sorted({*range(min(3, len(value))), *([len(value) - 1] if value else [])}):
            yield from walk(value[index], path + (index,))


def changed(document, path, change):
    copied = copy.deepcopy(document)
    holder = copied
    for step in path[:-1]:
        holder = holder[step]
    change(holder, path[-1])
    return copied


def replaced(document, path, value):
    return changed(document, path, lambda holder, key: holder.__setitem__(key, value))


def name_of(path):
    return next((step for step in reversed(path) if isinstance(step, str)), "")


def wrong_forms(path, value):
    """Values that are out of form at this place, whatever else the statement says."""
    name = name_of(path)
    yield from (None, 0, 1.5, -1, {"x": "y"}, "\n", "caf\u00e9", "x" * 5000)
    if not isinstance(value, bool):
        yield True
    if isinstance(value, str):
        yield from ([], ["x"], {})
        if name not in MAY_BE_EMPTY:
            yield ""
        yield value + "\n"
        # In a heading of digests, "name" is one, too.
        if name not in FREE or "subject" in path or name == "name" and "algorithm" in path:
            yield from (value + " ", " " + value, value + "0x", "-" + value)
            if value.upper() != value:
                yield value.upper()
    elif isinstance(value, list) and name != "notClaimed":
        yield from (["x"], [0], {}, "")
    elif isinstance(value, dict):
        yield from ([], {}, "", "x")


class SchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        Draft202012Validator.check_schema(SCHEMA)
        cls.validator = Draft202012Validator(SCHEMA)
        fixed = subprocess.run([TOOL, "--fixed"], capture_output=True, text=True, check=True).stdout
        cls.payloads = [json.loads(line) for line in fixed.splitlines()]

    def reasons(self, documents):
        lines = "".join(encode(document) + "\n" for document in documents)
        done = subprocess.run([TOOL], input=lines, capture_output=True, text=True, check=True)
        return done.stdout.split()

    def refused_by_both(self, documents):
        """`documents`: pairs of what was done, and what came of it."""
        reasons = self.reasons([document for _, document in documents])
        self.assertEqual(len(reasons), len(documents))
        for (what, document), reason in zip(documents, reasons):
            self.assertNotEqual(reason, "OK", what)
            self.assertFalse(self.validator.is_valid(document), what)
        return len(documents)

    def test_every_kind_and_stage_is_accepted_by_both(self):
        stages = {(p["predicate"]["kind"], "completes" in p["predicate"]) for p in self.payloads}
        self.assertEqual(len(stages), 9)
        self.assertEqual(set(self.reasons(self.payloads)), {"OK"})
        for payload in self.payloads:
            self.validator.validate(payload)

    def test_golden_certificates_are_accepted(self):
        files = sorted((ROOT / "tests/golden").glob("certificate_*.json"))
        self.assertEqual(len(files), 6)
        for file in files:
            envelope = json.loads(file.read_bytes())
            self.validator.validate(json.loads(base64.b64decode(envelope["payload"])))

    def test_every_absent_and_every_unknown_field_is_refused_by_both(self):
        documents = []
        for payload in self.payloads:
            for path, value in walk(payload):
                if not isinstance(value, dict):
                    continue
                for key in value:
                    documents.append((path + (key, "absent"), changed(
                        payload, path + (key,), lambda holder, key: holder.__delitem__(key))))
                documents.append((path + ("unknown",), replaced(payload, path + ("unknown",), "x")))
        self.assertGreater(self.refused_by_both(documents), 9 * 80)

    def test_every_value_out_of_form_is_refused_by_both(self):
        count = 0
        for payload in self.payloads:
            documents = []
            for path, value in walk(payload):
                for wrong in wrong_forms(path, value) if path else ():
                    documents.append((path + (wrong,), replaced(payload, path, wrong)))
            count += self.refused_by_both(documents)
        self.assertGreater(count, 10_000)

    def test_fields_of_other_kinds_and_stages_are_refused_by_both(self):
        documents = []
        for payload in self.payloads:
            for other in self.payloads:
                for field in set(other["predicate"]) - set(payload["predicate"]):
                    documents.append(((payload["predicate"]["kind"], field), replaced(
                        payload, ("predicate", field), other["predicate"][field])))
        self.assertGreater(self.refused_by_both(documents), 30)

    def test_edges_of_the_forms(self):
        accepted = {
            ("predicate", "memory", "dimensions", "key"): ["1", "18446744073709551615", "9999999999999999999"],
            ("predicate", "after", "epoch"): ["42", "18446744073709551615", "10000000000000000000"],
            ("predicate", "issued"): ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2024-02-29T23:59:59Z"],
            ("predicate", "request", "due"): ["", "2000-02-29T00:00:00Z"],
            ("predicate", "request", "legalBasis"): ["", "~", "x" * 4096],
            ("predicate", "algorithm", "gamma"): ["0x1p+0", "0x1.fffffffffffffp+1023", "0x0.0000000000001p-1022",
                                                  "0x1p-1022", "0x1.8p+1000"],
            ("predicate", "after", "proof", "eta"): ["0x0p+0", "inf", "0x1p-53"],
        }
        refused = {
            ("predicate", "memory", "dimensions", "key"): ["0", "18446744073709551616", "99999999999999999999", "01"],
            ("predicate", "after", "epoch"): ["18446744073709551616", "+42", "4_2", "0x2a"],
            ("predicate", "issued"): ["0000-01-01T00:00:00Z", "2024-13-01T00:00:00Z", "2024-04-31T00:00:00Z",
                                      "2024-02-30T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:00:60Z", ""],
            ("predicate", "algorithm", "gamma"): ["0x0p+0", "inf", "0x1p+1024", "0x1.0p+0", "0x1p-0", "0x1p+01",
                                                  "0x2p+0", "0x1.80p+0", "0x1p-1023", "1"],
            ("predicate", "after", "proof", "eta"): ["nan", "-0x0p+0", "-inf", "Infinity", "0x1.fffffffffffff8p-1"],
            ("predicate", "transition", 0): ["n256", "n-1", "n00", "d", "r0", "N1", "n"],
            ("predicate", "removed", 0, "classBefore"): ["M", "s", "SE"],
        }
        payload = self.payloads[0]
        self.assertEqual(payload["predicate"]["kind"], "DELETION")
        fine = [replaced(payload, path, value) for path, values in accepted.items() for value in values]
        self.assertEqual(set(self.reasons(fine)), {"OK"})
        for document in fine:
            self.validator.validate(document)
        self.refused_by_both([(path + (value,), replaced(payload, path, value))
                              for path, values in refused.items() for value in values])


if __name__ == "__main__":
    unittest.main()
