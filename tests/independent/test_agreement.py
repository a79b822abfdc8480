"""expunge-verify and expunge_verify, in C++ and in Python, give the same verdict on every claim, of true and of false histories."""

import contextlib
import io
import json
import os
import random
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "tests", folder) for folder in ("integration", "python")]

import maker  # noqa: E402
import memories  # noqa: E402
import test_log  # noqa: E402
from harness import ProgramTest, binary, main, run  # noqa: E402
from history import KEY, LOG_KEY, History  # noqa: E402

from expunge_verify.cli import main as python_verifier  # noqa: E402

SEED = 20260713
CLAIMS = ("signature", "statement", "key", "log", "transition", "receipt", "bundle", "chain", "completion")


class AgreementTest(ProgramTest):
    def setUp(self):
        self.random = random.Random(SEED)
        self.good = History(self.path("good"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(os.path.join(cls.directory, "good"), ignore_errors=True)

    def tearDown(self):
        shutil.rmtree(self.path("good"))

    def copy(self):
        shutil.rmtree(self.path("copy"), ignore_errors=True)
        shutil.copytree(self.path("good"), self.path("copy"))
        return self.path("copy")

    def arguments(self, directory):
        inside = lambda name: os.path.join(directory, name)
        return [
            "--output",
            "json",
            "--key",
            inside("key.pem"),
            "--keys",
            inside("keys.json"),
            "--log",
            inside("log"),
            "--old-checkpoint",
            inside("old_checkpoint"),
            "--receipts",
            inside("receipts.jsonl"),
            "--bundle",
            inside("bundle.jsonl"),
            inside("certificates"),
        ]

    def python(self, directory):
        """(exit code, {file: {claim: verdict}})."""
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = python_verifier(self.arguments(directory))
        report = json.loads(out.getvalue())
        files = {
            os.path.basename(file["file"]): file["claims"] for file in report["files"] if "signature" in file["claims"]
        }
        return code, {
            name: {claim: claims[claim]["verdict"] for claim in CLAIMS if claim in claims}
            for name, claims in files.items()
        }

    def cpp(self, directory):
        done = run(binary("expunge-verify"), *self.arguments(directory))
        self.assertIn(done.returncode, (0, 1), done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["verified"], done.returncode == 0)
        files = {os.path.basename(file["file"]): file["claims"] for file in report["certificates"]}
        return done.returncode, {
            name: {claim: claims[claim]["verdict"] for claim in CLAIMS if claim in claims}
            for name, claims in files.items()
        }

    def agree(self, directory):
        """What both say: (exit code, verdicts). A claim that only one of them reaches was not reached by the other for a refusal before."""
        (python_code, python), (cpp_code, cpp) = self.python(directory), self.cpp(directory)
        self.assertEqual(python_code, cpp_code, (python, cpp))
        self.assertEqual(python.keys(), cpp.keys())
        for name in python:
            for claim in python[name].keys() & cpp[name].keys():
                self.assertEqual(python[name][claim], cpp[name][claim], (name, claim))
        return python_code, python

    def test_a_true_history(self):
        code, verdicts = self.agree(self.copy())
        self.assertEqual((code, len(verdicts)), (0, 5))

    def test_a_flipped_bit_anywhere(self):
        names = [
            os.path.relpath(os.path.join(folder, name), self.path("good"))
            for folder, _, files in os.walk(self.path("good"))
            for name in files
        ]
        for name in sorted(names):
            if name in ("other.pem", "key.pem"):
                continue
            for _ in range(6):
                directory = self.copy()
                with open(os.path.join(directory, name), "r+b") as file:
                    content = bytearray(file.read())
                    place = self.random.randrange(8 * len(content))
                    content[place // 8] ^= 1 << place % 8
                    file.seek(0)
                    file.write(content)
                with self.subTest(name=name, place=place):
                    self.agree(directory)

    def test_a_missing_file(self):
        for name in (
            "certificates/m1.json",
            "certificates/m2.json",
            "certificates/m3.json",
            "certificates/m1.tlog-proof",
            "certificates/n1.json",
            "log/tile/0/000.p/6",
            "log/checkpoint",
        ):
            directory = self.copy()
            os.remove(os.path.join(directory, name))
            with self.subTest(name=name):
                self.agree(directory)

    def test_a_copy_of_the_log_or_a_kept_checkpoint_of_another_size(self):
        entries = self.good.entries
        for copied, kept in ((4, 3), (2, 2), (6, 6), (4, 5), (6, 7)):
            directory = self.copy()
            shutil.rmtree(os.path.join(directory, "log"))
            test_log.write_tiles(os.path.join(directory, "log"), entries[:copied], LOG_KEY)
            with open(os.path.join(directory, "old_checkpoint"), "wb") as file:
                file.write(maker.checkpoint((entries + entries)[:kept], LOG_KEY))
            with self.subTest(copied=copied, kept=kept):
                self.agree(directory)

    def put(self, directory, name, predicate):
        """A certificate with this predicate, signed and logged as the others are."""
        content = maker.envelope(memories.statement(predicate), KEY)
        entries = list(self.good.entries)
        index = 1 + list(self.good.certificates).index(name)
        entries[index] = maker.leaf(content, KEY)
        for path, written in (
            (f"{name}.json", content),
            (f"{name}.tlog-proof", maker.log_proof(index, entries[: index + 1], LOG_KEY)),
        ):
            with open(os.path.join(directory, "certificates", path), "wb") as file:
                file.write(written)
        shutil.rmtree(os.path.join(directory, "log"))
        test_log.write_tiles(os.path.join(directory, "log"), entries, LOG_KEY)

    def places(self, value, path=()):
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for name, inner in items:
            # Between the two stages of a removal expunge_verify compares more. expunge-verify wants the bounds that it
            # would prove itself, where expunge_verify takes every true one, and the bundle's own epoch.
            stricter = name in ("text", "expires", "eta", "eigenvalueLower", "epoch") or "dimensions" in path
            if not isinstance(inner, (dict, list)) and not stricter:
                yield path + (name,)
            yield from self.places(inner, path + (name,))

    def test_a_signer_who_lies_in_one_field(self):
        told = 0
        for name in ("m1", "m2", "m3"):
            predicate = json.loads(maker.payload_of(self.good.certificates[name]))["predicate"]
            for path in self.places(predicate):
                altered = json.loads(json.dumps(predicate))
                parent = altered
                for step in path[:-1]:
                    parent = parent[step]
                parent[path[-1]] = self.another(parent[path[-1]])
                directory = self.copy()
                self.put(directory, name, altered)
                with self.subTest(name=name, path=path):
                    code, _ = self.agree(directory)
                    told += code
        self.assertGreater(told, 90)  # issued, texts and the like may be anything

    def another(self, value):
        """A value of the same form, or nearly."""
        if isinstance(value, bool):
            return not value
        if len(value) == 64 and not value.strip("0123456789abcdef"):
            return maker.digest(self.random.randrange(100))
        if value.isdigit():
            return str(int(value) + self.random.choice((1, 1, 2)))
        if value.startswith("0x"):
            return maker.hex_double(float.fromhex(value) * self.random.choice((0.5, 2.0)))
        return self.random.choice((value + "x", value[:-1], value[:-1] + "9", "", "R", "S", "r"))


if __name__ == "__main__":
    main()
