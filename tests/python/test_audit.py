"""The program: what is given, what is said of each claim, and exit codes; withheld, forged and forked histories are seen."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile

import maker
import memories
import test_log
from history import KEY, LOG_KEY, OTHER, History
from support import PACKAGE, VerifyTest, main

from expunge_verify.cli import main as program


class AuditTest(VerifyTest):
    def setUp(self):
        super().setUp()
        directory = tempfile.mkdtemp(prefix="expunge-test-")
        self.addCleanup(shutil.rmtree, directory)
        self.history = History(directory)

    def run_program(self, *arguments):
        """(exit code, standard output)."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as self.errors:
            try:
                code = program(list(arguments))
            except SystemExit as exit_:
                code = exit_.code
        return code, out.getvalue()

    def verdicts(self, *arguments, code):
        """{name of the file: {claim: verdict and reason}}."""
        got, out = self.run_program("--key", self.history.path("key.pem"), "--output", "json", *arguments)
        report = json.loads(out)
        self.assertEqual(got, code, out)
        self.assertEqual(report["verified"], code == 0)
        return {
            os.path.basename(file["file"]): {
                claim: " ".join(filter(None, (verdict["verdict"], verdict.get("reason"))))
                for claim, verdict in file["claims"].items()
            }
            for file in report["files"]
        }

    def everything(self):
        path = self.history.path
        return [
            "--keys",
            path("keys.json"),
            "--log",
            path("log"),
            "--old-checkpoint",
            path("old_checkpoint"),
            "--receipts",
            path("receipts.jsonl"),
            "--bundle",
            path("bundle.jsonl"),
            path("certificates"),
        ]

    def test_a_whole_history_verifies(self):
        verdicts = self.verdicts(*self.everything(), code=0)
        self.assertEqual(
            verdicts["m1.json"],
            {
                "signature": "OK",
                "statement": "OK",
                "log": "OK",
                "key": "OK",
                "transition": "OK",
                "receipt": "OK",
                "bundle": "OK",
                "chain": "OK",
                "completion": "OK",
            },
        )
        self.assertEqual(verdicts["m3.json"]["transition"], "NOT_CHECKED")
        self.assertEqual(verdicts["n2.json"]["bundle"], "NOT_CHECKED")
        self.assertEqual(
            verdicts["bundle.jsonl"], dict.fromkeys(("form", "digests", "solution", "certificate", "receipts"), "OK")
        )
        self.assertEqual(verdicts["receipts.jsonl"], {"receipts": "OK", "named": "OK"})
        for name, claim in (("keys.json", "keys"), ("log", "log"), ("old_checkpoint", "consistency")):
            self.assertEqual(verdicts[name], {claim: "OK"})

    def test_one_certificate_and_a_key_are_enough(self):
        verdicts = self.verdicts(self.history.one("m2"), code=0)["m2.json"]
        self.assertEqual(
            verdicts,
            {
                "signature": "OK",
                "statement": "OK",
                "log": "NOT_CHECKED",
                "key": "NOT_CHECKED",
                "transition": "OK",
                "chain": "NOT_CHECKED",
                "completion": "NOT_CHECKED",
            },
        )
        code, out = self.run_program("--key", self.history.path("key.pem"), self.history.one("m1"))
        self.assertEqual((code, out.splitlines()[-1]), (0, "VERIFIED"))

    def test_the_log_s_key_alone_is_enough_for_inclusion(self):
        for key in (LOG_KEY.vkey(maker.ORIGIN), self.history.path("vkey")):
            self.history.put("vkey", LOG_KEY.vkey(maker.ORIGIN).encode() + b"\n")
            self.assertEqual(self.verdicts("--log-key", key, self.history.one("m1"), code=0)["m1.json"]["log"], "OK")
        verdicts = self.verdicts("--log-key", maker.Key(8).vkey(maker.ORIGIN), self.history.one("m1"), code=1)
        self.assertEqual(verdicts["m1.json"]["log"], "FAILED UNKNOWN_CHECKPOINT_KEY")

    def test_a_proof_that_is_missing_or_of_another_certificate_is_told(self):
        keys = ["--keys", self.history.path("keys.json")]
        os.remove(self.history.path("certificates/m1.tlog-proof"))
        self.assertEqual(self.verdicts(*keys, self.history.one("m1"), code=1)["m1.json"]["log"], "NOT_CHECKED")
        self.assertEqual(
            self.verdicts(*keys, "--log", self.history.path("log"), self.history.one("m1"), code=0)["m1.json"]["log"],
            "OK",
        )
        shutil.copy(self.history.path("certificates/m2.tlog-proof"), self.history.path("certificates/m1.tlog-proof"))
        self.assertEqual(self.verdicts(*keys, self.history.one("m1"), code=1)["m1.json"]["log"], "FAILED NOT_IN_LOG")

    def test_withheld_certificates_are_noticed(self):
        os.remove(self.history.one("m2"))
        verdicts = self.verdicts(self.history.path("certificates"), code=1)
        self.assertEqual(verdicts["m3.json"]["chain"], "FAILED CHAIN_GAP")
        self.assertEqual(verdicts["m1.json"]["completion"], "NOT_CHECKED")
        os.remove(self.history.one("m1"))
        self.assertEqual(
            self.verdicts(self.history.path("certificates"), code=1)["m3.json"]["chain"], "FAILED CHAIN_GAP"
        )
        self.assertEqual(self.verdicts(self.history.one("m3"), code=0)["m3.json"]["chain"], "NOT_CHECKED")

    def test_a_second_history_is_noticed(self):
        # The signer makes another certificate of the same place, and everything that follows.
        self.history.memory.chain.pop()
        self.history.memory.epoch += 1
        self.history.put("certificates/m3b.json", maker.envelope(self.history.memory.certify(), KEY))
        verdicts = self.verdicts(self.history.path("certificates"), code=1)
        self.assertEqual((verdicts["m3.json"]["chain"], verdicts["m3b.json"]["chain"]), ("FAILED CHAIN_FORKED",) * 2)
        os.remove(self.history.one("m3b"))
        forged = memories.Memory()
        forged.add("t", [1.0])
        forged.certify()
        forged.certify()
        self.history.put("certificates/m3.json", maker.envelope(forged.certify(), KEY))
        self.assertEqual(
            self.verdicts(self.history.path("certificates"), code=1)["m3.json"]["chain"], "FAILED CHAIN_BROKEN"
        )

    def test_the_same_certificate_twice_is_no_fork(self):
        shutil.copy(self.history.one("m1"), self.history.one("copy"))
        self.assertEqual(self.verdicts(self.history.path("certificates"), code=0)["copy.json"]["chain"], "OK")

    def test_second_stages_may_follow_other_removals(self):
        memory = memories.Memory()
        for i in range(4):
            memory.add(f"t{i}", [i])
        first, second = memory.remove("t0"), memory.remove("t1")
        payloads = [first, second, memory.purge_files(first), memory.certify(), memory.purge_files(second)]
        for number, payload in enumerate(payloads):
            self.history.put(f"two/{number}.json", maker.envelope(payload, KEY))
        verdicts = self.verdicts(self.history.path("two"), code=0)
        self.assertEqual({claims["chain"] for claims in verdicts.values()}, {"OK"})
        self.assertEqual(
            [claims["completion"] for claims in verdicts.values()], ["OK", "OK", "OK", "NOT_CHECKED", "OK"]
        )
        memory.epoch = 0
        self.history.put("two/5.json", maker.envelope(memory.certify(), KEY))
        self.assertEqual(self.verdicts(self.history.path("two"), code=1)["5.json"]["chain"], "FAILED CHAIN_BROKEN")

    def test_a_completion_that_says_something_else_is_refused(self):
        statement = json.loads(maker.payload_of(self.history.certificates["m2"]))
        statement["predicate"]["request"]["legalBasis"] = "another"
        self.history.put("certificates/m2.json", maker.envelope(maker.canonical(statement), KEY))
        verdicts = self.verdicts(self.history.one("m1"), self.history.one("m2"), code=1)
        self.assertEqual(verdicts["m2.json"]["completion"], "FAILED BAD_COMPLETION")

    def test_a_forked_log_is_noticed(self):
        keys = ["--keys", self.history.path("keys.json")]
        entries = self.history.entries
        forked = entries[:4] + [maker.sha256(b"x") * 4] + entries[5:]
        self.history.put("certificates/m1.tlog-proof", maker.log_proof(1, forked, LOG_KEY))
        self.history.put("certificates/n2.tlog-proof", maker.log_proof(5, entries, LOG_KEY))
        both = self.verdicts(*keys, self.history.one("m1"), self.history.one("n2"), code=1)
        self.assertEqual((both["m1.json"]["log"], both["n2.json"]["log"]), ("OK", "FAILED LOG_FORKED"))
        one = self.verdicts(*keys, "--log", self.history.path("log"), self.history.one("m1"), code=1)
        self.assertEqual(one["m1.json"]["log"], "FAILED LOG_FORKED")
        self.history.put("old_checkpoint", maker.checkpoint(forked, LOG_KEY))
        verdicts = self.verdicts(*self.everything(), code=1)
        self.assertEqual(verdicts["old_checkpoint"]["consistency"], "FAILED LOG_FORKED")

    def test_a_log_that_was_rolled_back_is_noticed(self):
        self.history.put("old_checkpoint", maker.checkpoint(self.history.entries + [maker.sha256(b"x") * 4], LOG_KEY))
        self.assertEqual(
            self.verdicts(*self.everything(), code=1)["old_checkpoint"]["consistency"], "FAILED LOG_ROLLED_BACK"
        )
        without = self.verdicts(
            "--keys",
            self.history.path("keys.json"),
            "--old-checkpoint",
            self.history.path("old_checkpoint"),
            self.history.one("m1"),
            code=1,
        )
        self.assertEqual(without["old_checkpoint"]["consistency"], "NOT_CHECKED")

    def test_a_copy_that_is_older_than_a_proof_leaves_it_open(self):
        shutil.rmtree(self.history.path("log"))
        test_log.write_tiles(self.history.path("log"), self.history.entries[:4], LOG_KEY)
        arguments = ["--keys", self.history.path("keys.json"), "--log", self.history.path("log")]
        self.assertEqual(self.verdicts(*arguments, self.history.one("m3"), code=1)["m3.json"]["log"], "NOT_CHECKED")
        # An entry that the copy has is in it, whatever the proof's size.
        self.history.put("certificates/m1.tlog-proof", maker.log_proof(1, self.history.entries, LOG_KEY))
        self.assertEqual(self.verdicts(*arguments, self.history.one("m1"), code=0)["m1.json"]["log"], "OK")

    def test_the_key_s_time_is_held_against_the_certificate(self):
        late = [
            maker.key_entry(KEY, "certificate", not_after="2026-01-01T00:00:00Z", end="3"),
            maker.key_entry(LOG_KEY, "checkpoint"),
            maker.key_entry(OTHER, "certificate"),
        ]
        first = maker.key_set(1, b"", [maker.key_entry(KEY, "certificate"), maker.key_entry(LOG_KEY, "checkpoint")])
        second = maker.key_set(2, first, late)
        self.history.put("keys.json", maker.keys_file([maker.envelope(first, KEY), maker.envelope(second, KEY)]))
        verdicts = self.verdicts("--keys", self.history.path("keys.json"), self.history.one("m1"), code=1)
        self.assertEqual(verdicts["m1.json"]["key"], "FAILED AFTER_KEY")

    def test_keys_that_do_not_verify_leave_everything_open(self):
        self.history.put("keys.json", b"{}")
        verdicts = self.verdicts("--keys", self.history.path("keys.json"), self.history.one("m1"), code=1)
        self.assertEqual(
            (verdicts["keys.json"]["keys"], verdicts["m1.json"]["key"]), ("FAILED NOT_A_KEYS_FILE", "NOT_CHECKED")
        )

    def test_receipts_open_or_are_refused(self):
        lines = self.history.receipts
        for content, reason in (
            (b"x\n", "BAD_RECEIPT"),
            (lines[0].replace(b'"s"', b'"z"'), "BAD_RECEIPT"),
            (lines[1].replace(b"salt", b"salz"), "BAD_RECEIPT"),
        ):
            self.history.put("receipts.jsonl", content)
            verdicts = self.verdicts("--receipts", self.history.path("receipts.jsonl"), self.history.one("m1"), code=1)
            self.assertEqual(verdicts["receipts.jsonl"]["receipts"], f"FAILED {reason}")
        self.history.put("receipts.jsonl", lines[3])  # of a token that was not removed
        verdicts = self.verdicts("--receipts", self.history.path("receipts.jsonl"), self.history.one("m1"), code=1)
        self.assertEqual(
            (verdicts["receipts.jsonl"]["named"], verdicts["m1.json"]["receipt"]), ("NOT_CHECKED", "NOT_CHECKED")
        )

    def test_a_place_in_another_log_tells_nothing_of_a_key(self):
        first = maker.key_set(1, b"", [maker.key_entry(KEY, "certificate"), maker.key_entry(LOG_KEY, "checkpoint")])
        log_key, year = maker.key_entry(LOG_KEY, "checkpoint"), "2027-01-01T00:00:00Z"
        retired = [
            maker.key_entry(KEY, "certificate", not_after=year, end="9"),
            log_key,
            maker.key_entry(OTHER, "certificate", not_before=year),
        ]
        for keys, code in (([maker.key_entry(KEY, "certificate"), log_key], 0), (retired, 1)):
            second = maker.key_set(2, first, keys, issued=year, origin="expunge.invalid/log/anew")
            sets = [maker.envelope(payload, KEY) for payload in (first, second)]
            self.history.put("keys.json", maker.keys_file(sets))
            verdicts = self.verdicts("--keys", self.history.path("keys.json"), self.history.one("m1"), code=code)
            self.assertEqual(verdicts["keys.json"]["keys"], "OK")
            self.assertEqual((verdicts["m1.json"]["log"], verdicts["m1.json"]["key"]), ("OK", "NOT_CHECKED"))

    @staticmethod
    def unopened(line, **changes):
        receipt = {**json.loads(line), **changes}
        return json.dumps({name: receipt[name] for name in ("token", "salt", "commitment")}).encode() + b"\n"

    def test_a_receipt_that_nobody_opens_counts_for_nothing(self):
        # Whoever has the certificate can write this line: it does not have the salt.
        self.history.put("receipts.jsonl", self.unopened(self.history.receipts[1], salt=maker.digest(4)))
        verdicts = self.verdicts("--receipts", self.history.path("receipts.jsonl"), self.history.one("m1"), code=0)
        self.assertEqual(
            (verdicts["receipts.jsonl"]["named"], verdicts["m1.json"]["receipt"]), ("NOT_CHECKED", "NOT_CHECKED")
        )

    def test_a_bundle_opens_the_receipts_of_its_tokens(self):
        self.history.put("receipts.jsonl", self.unopened(self.history.receipts[1]))
        self.history.put("bundle.jsonl", self.history.bundles[0])  # the removed token is in it
        verdicts = self.verdicts(*self.everything(), code=0)
        self.assertEqual((verdicts["receipts.jsonl"]["named"], verdicts["m1.json"]["receipt"]), ("OK", "OK"))

    def test_a_receipt_that_does_not_open_a_token_of_the_bundle_is_refused(self):
        line = json.loads(self.history.receipts[3])
        line["salt"] = maker.digest(4)
        self.history.put("receipts.jsonl", json.dumps(line).encode() + b"\n" + self.history.receipts[1])
        verdicts = self.verdicts(*self.everything(), code=1)
        self.assertEqual(verdicts["bundle.jsonl"]["receipts"], "FAILED BAD_RECEIPT")

    def test_a_bundle_of_the_state_before_shows_the_removed_tokens(self):
        self.history.put("bundle.jsonl", self.history.bundles[0])
        verdicts = self.verdicts(*self.everything(), code=0)
        self.assertEqual((verdicts["m1.json"]["bundle"], verdicts["m3.json"]["bundle"]), ("OK", "NOT_CHECKED"))

    def test_a_state_that_comes_back_is_the_bundle_s_at_every_epoch(self):
        memory = self.history.memory
        memory.epoch += 1
        memory.add("again", [1.0, 1.0])
        self.history.put("again.json", maker.envelope(memory.remove("again"), KEY))
        self.history.put("later.json", maker.envelope(memory.certify(), KEY))
        verdicts = self.verdicts(
            "--bundle",
            self.history.path("bundle.jsonl"),
            self.history.one("m3"),
            self.history.path("again.json"),
            self.history.path("later.json"),
            code=0,
        )
        self.assertEqual((verdicts["m3.json"]["bundle"], verdicts["later.json"]["bundle"]), ("OK", "OK"))

    def test_a_selection_s_horizon_is_held_against_the_bundle_before(self):
        memory = memories.Memory()
        for i, key in enumerate([[2.75, 1.75], [0.75, 0.25], [1.5, 0.5], [0.25, 0.5], [2.75, 2.0]]):
            memory.add(f"t{i}", key)
        self.history.put("bundle.jsonl", memory.bundle())
        payload = memory.evict("t1")
        self.history.put("evicted.json", maker.envelope(payload, KEY))
        arguments = ["--bundle", self.history.path("bundle.jsonl"), self.history.path("evicted.json")]
        self.assertEqual(self.verdicts(*arguments, code=0)["evicted.json"]["bundle"], "OK")
        statement = json.loads(payload)
        margin = float.fromhex(statement["predicate"]["horizon"]["marginLower"])
        for other in (maker.hex_double(margin * (1 + 2.0**-48)), "inf"):
            statement["predicate"]["horizon"]["marginLower"] = other
            self.history.put("evicted.json", maker.envelope(maker.canonical(statement), KEY))
            self.assertEqual(self.verdicts(*arguments, code=1)["evicted.json"]["bundle"], "FAILED BUNDLE_PROOF")

    def test_a_bundle_that_a_certificate_contradicts_is_refused(self):
        statement = json.loads(maker.payload_of(self.history.certificates["m3"]))
        after = statement["predicate"]["after"]
        changes = [
            lambda: after["partition"].update(entriesRoot=maker.digest(2)),
            lambda: after["proof"].update(weightDistanceLower="0x1p-1"),
            lambda: statement["predicate"]["algorithm"].update(gamma="0x1p+0"),
            lambda: statement["predicate"]["exactness"].update(scope="RETAINED_SET"),
        ]
        for change in changes:
            before = json.dumps(statement)
            change()
            self.history.put("forged.json", maker.envelope(maker.canonical(statement), KEY))
            verdicts = self.verdicts(
                "--bundle", self.history.path("bundle.jsonl"), self.history.path("forged.json"), code=1
            )
            self.assertIn(verdicts["forged.json"]["bundle"], ("FAILED BUNDLE_MISMATCH", "FAILED BUNDLE_PROOF"))
            statement = json.loads(before)
            after = statement["predicate"]["after"]
        verdicts = self.verdicts("--bundle", self.history.path("bundle.jsonl"), self.history.one("n1"), code=1)
        self.assertEqual(verdicts["bundle.jsonl"]["certificate"], "FAILED BUNDLE_UNRELATED")

    def test_one_bad_file_among_good_ones_is_told(self):
        self.history.put("bad.json", self.history.certificates["m1"][:-1])
        verdicts = self.verdicts(self.history.one("m1"), self.history.path("bad.json"), code=1)
        self.assertEqual(
            (verdicts["bad.json"], verdicts["m1.json"]["signature"]), ({"signature": "FAILED NOT_JSON"}, "OK")
        )
        code, _ = self.run_program("--key", self.history.path("other.pem"), self.history.one("m1"))
        self.assertEqual(code, 1)
        code, _ = self.run_program(
            "--key", self.history.path("other.pem"), "--key", self.history.path("key.pem"), self.history.one("m1")
        )
        self.assertEqual(code, 0)

    def test_wrong_usage_and_unreadable_files(self):
        key, one = ["--key", self.history.path("key.pem")], self.history.one("m1")
        os.mkdir(self.history.path("empty"))
        for arguments in (
            [],
            [one],
            [*key],
            [*key, "/nonexistent"],
            [*key, self.history.path("empty")],
            ["--key", one, one],
            ["--key", "/nonexistent", one],
            [*key, "--keys", "/nonexistent", one],
            [*key, "--log-key", "nonsense", one],
            [*key, "--log", one, one],
            [*key, "--nonsense", one],
            [*key, "--bundle", "/nonexistent", one],
            [*key, "--output", "xml", one],
        ):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.run_program(*arguments), (2, ""))
                self.assertNotEqual(self.errors.getvalue(), "")

    def test_a_file_named_like_a_verdict_gives_one_line_a_claim(self):
        name = "bad\nother.json: signature: OK: \x1b[2J.json"
        self.history.put(name, b"x")
        _, out = self.run_program("--key", self.history.path("key.pem"), self.history.path(name))
        self.assertEqual(len(out.splitlines()), 2)
        self.assertNotIn("\x1b", out)
        self.assertIn("bad\\x0aother.json", out)

    def test_the_module_runs_by_itself_and_explains_itself(self):
        command = [sys.executable, "-B", "-m", "expunge_verify"]
        done = subprocess.run([*command, "--help"], cwd=PACKAGE, capture_output=True, text=True, check=True, timeout=60)
        for word in ("--bundle", "--old-checkpoint", "exit codes", "NOT_CHECKED"):
            self.assertIn(word, done.stdout)
        done = subprocess.run(
            [*command, "--key", self.history.path("key.pem"), self.history.one("m1")],
            cwd=PACKAGE,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "VERIFIED"))


if __name__ == "__main__":
    main()
