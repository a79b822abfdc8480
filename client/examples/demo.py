#!/usr/bin/env python3
"""Expunge from import to a verified certificate, on real patients' data, in under a minute.

Runs expunged, expunge and expunge-verify as anyone would; every claim is checked, and the first that does not hold ends
the demo with exit code 1. Needs Python 3 and openssl. It ends with the verdicts of four verifiers that share nothing with
the service (client/independent); one that is not installed gives none, and the demo says how to install it.
"""

import argparse
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "independent"))

import four  # noqa: E402
from demo_checks import commitment, flip_one_byte, pre_auth_encoding, split_envelope
from demo_stack import Report, Stack, StepFailed

DATA = os.path.join(HERE, "wisconsin.csv")
# 30 standardised measurements: |x - y|^2 of two patients is around 60, so gamma = 1/30 lets a patient be answered from
# its neighbourhood, neither from itself alone nor from everybody. At least 50 patients then carry weight, so that no
# single one carries more than 2/99 of it.
GAMMA = "1/30"
MIN_SUPPORT = "50"
KEY_COLUMNS = "4-33"
LEGAL_BASIS = "GDPR Art. 17(1)(b)"
UNUSUAL = 3
OUTPUT_CLOSED = "standard output was closed before the end"
COLUMNS = ["--csv", DATA, "--key-columns", KEY_COLUMNS, "--one-hot", "diagnosis", "--subject-columns", "patient",
           "--id-column", "token"]


class Demo:
    def __init__(self, stack, report, page):
        """`page`: where the HTML report goes."""
        self.stack, self.report, self.page = stack, report, os.path.abspath(page)
        with open(DATA, encoding="ascii", newline="") as file:
            self.patients = {row["token"]: row for row in csv.DictReader(file)}
        # Every tenth patient, from the first on: a fixed choice, made without a look at the data.
        self.held_out = list(self.patients)[::10]
        self.std, self.key = stack.path("standardization.json"), stack.path("issuer.pem")
        self.receipts = stack.path("receipts.jsonl")

    def write_ids(self, name, ids):
        with open(self.stack.path(name), "w", encoding="ascii") as file:
            file.write("".join(f"{token}\n" for token in ids))
        return self.stack.path(name)

    def fingerprint(self, memory):
        return self.stack.expunge("memory", "get", memory, "--full")["fingerprint"]

    def create(self, memory):
        self.stack.expunge("memory", "create", memory, "--key-dimension", "30", "--value-dimension", "2", "--gamma",
                           GAMMA, "--min-support", MIN_SUPPORT)

    def read_held_out(self):
        return self.stack.expunge("read", "cancer", "--csv", DATA, "--id-column", "token", "--only-ids",
                                  self.stack.path("held-out.txt"), "--standardization", self.std)

    # The steps, in order.

    def start(self):
        self.report.step("Start the service on an empty directory")
        seconds = self.stack.start()
        self.report.check(True, f"expunged serves on a free port of this machine after {seconds:.2f} s")
        key = self.stack.expunge("cert", "keys", "--out", self.key)["keys"][0]
        self.report.check(key["algorithm"] == "Ed25519", f"its public key is saved: {key['key_id'][:16]}...")
        mode = os.stat(self.stack.path("data", "signing_key.pem")).st_mode & 0o777
        self.report.check(mode == 0o600, "its private key was made at this first start, readable by its owner alone")

    def fill(self):
        self.report.step(f"Import {len(self.patients) - len(self.held_out)} of {len(self.patients)} patients")
        self.report.note("Wisconsin diagnostic breast cancer data: 30 measurements a patient (client/examples/README.md)")
        self.report.note(f"gamma = {GAMMA}, min_support = {MIN_SUPPORT}; each patient is a data subject")
        self.write_ids("held-out.txt", self.held_out)
        self.create("cancer")
        begin = time.monotonic()
        answer = self.stack.expunge("import", "cancer", *COLUMNS, "--exclude-ids", self.stack.path("held-out.txt"),
                                    "--standardize", "--standardization", self.std, "--receipts", self.receipts)
        seconds = time.monotonic() - begin
        parts = answer["partition"]
        self.report.check(answer["imported"] == len(self.patients) - len(self.held_out) and sum(parts.values()) == answer["imported"],
                          f"{answer['imported']} tokens in one durable batch, {seconds * 1000:.0f} ms: {parts['margin']} margin, "
                          f"{parts['error']} error, {parts['reserve']} reserve")
        self.report.check(os.stat(self.receipts).st_mode & 0o777 == 0o600, "their receipts are kept, for our eyes alone")
        proof = self.stack.expunge("memory", "get", "cancer", "--full")["proof"]
        self.report.check(proof["eta"] <= 2.0 ** -53 and (proof["strict"] or proof["ties"] > 0), "every class is proven and every weight is the correctly rounded one "
                          f"({proof['ties']} ties, {proof['higher_precision']} decisions at higher precision)")

    def read(self):
        self.report.step(f"Read the {len(self.held_out)} patients that the memory has never seen")
        self.before = self.read_held_out()
        labels = [label.split("=")[1] for label in self.before["labels"]]
        agreeing = 0
        for readout in self.before["readouts"]:
            diagnosis = labels[readout["output"].index(max(readout["output"]))]
            agreeing += diagnosis == self.patients[readout["id"]]["diagnosis"]
        self.report.facts["agreement"] = [agreeing, len(self.held_out)]
        self.report.check(len(self.before["readouts"]) == len(self.held_out), "every query is answered")
        # A guess of the more frequent diagnosis would agree on 357 of 569.
        share = agreeing / len(self.held_out)
        self.report.check(share > 0.75, f"{agreeing} of {len(self.held_out)} readouts agree with the patient's diagnosis ({share:.0%})")
        bound = max(readout["error_bound"] for readout in self.before["readouts"])
        self.report.check(0 < bound < 1e-9, f"each within {bound:.1e} of the exact answer, by a proven bound")
        self.report.note("the most unusual, by decision value (below 0: outside the description):")
        for readout in sorted(self.before["readouts"], key=lambda one: one["decision_value"])[:UNUSUAL]:
            patient = self.patients[readout["id"]]
            self.report.note(f"  {patient['patient']}  {readout['decision_value']:+.3f}  {patient['diagnosis']}")

    def purge(self):
        self.report.step("Purge one patient")
        tokens = self.stack.expunge("tokens", "cancer")["tokens"]
        chosen = max(tokens, key=lambda token: token["weight"])
        self.token, [self.subject] = chosen["token_id"], chosen["subjects"]
        self.report.note(f"{self.subject}: the first of those with the largest weight, {chosen['weight']:.4f} ({chosen['class']})")
        self.fingerprint_before = self.fingerprint("cancer")
        preview = self.stack.expunge("purge", "--subject", self.subject, "--validate-only")
        self.report.check(preview["deleted"] == 0 and self.fingerprint("cancer") == self.fingerprint_before,
                          "--validate-only finds the patient and changes nothing")
        shutil.copy(self.stack.path("data", "log", "checkpoint"), self.stack.path("old_checkpoint"))
        begin = time.monotonic()
        answer = self.stack.expunge("purge", "--subject", self.subject, "--legal-basis", LEGAL_BASIS, "--request-id",
                                    "demo-purge", "--out-dir", self.stack.path("certificates"))
        seconds = time.monotonic() - begin
        [certificate] = answer["certificates"]
        self.certificate = certificate["saved_to"]
        self.fingerprint_after = self.fingerprint("cancer")
        self.report.check(answer["deleted"] == 1, f"1 token purged, durably, in {seconds * 1000:.0f} ms; the certificate is saved")
        self.report.check(self.fingerprint_after != self.fingerprint_before, "the memory's fingerprint is another one than before")
        after = self.read_held_out()
        changed = sum(one["output"] != other["output"] for one, other in zip(self.before["readouts"], after["readouts"]))
        self.report.check(changed > 0, f"{changed} of {len(self.held_out)} readouts changed: the patient had mattered")

    def words(self):
        self.report.step("What the certificate says")
        self.report.quote(self.stack.expunge_text("cert", "show", "--file", self.certificate, "--key", self.key))
        self.report.check(True, "verified, then put into words")
        with open(self.certificate, "rb") as file:
            self.envelope = file.read()
        content = self.envelope + split_envelope(self.envelope)[1]
        self.report.check(not any(secret.encode() in content for secret in (self.token, self.subject, "cancer")),
                          "no name of patient, token or memory is in it")

    def verify(self):
        self.report.step("Verify it offline, twice")
        done = self.stack.run("expunge-verify", "--key", self.key, "--output", "json", self.certificate)
        verdict = json.loads(done.stdout)
        self.report.check(done.returncode == 0 and verdict["verified"], "expunge-verify: "
                          f"{verdict['certificates'][0]['reason']} (it knows nothing of the service)")
        payload_type, payload, signature = split_envelope(self.envelope)
        for name, content in (("pae", pre_auth_encoding(payload_type, payload)), ("sig", signature)):
            with open(self.stack.path(name), "wb") as file:
                file.write(content)
        done = self.stack.run("openssl", "pkeyutl", "-verify", "-pubin", "-inkey", self.key, "-rawin", "-in",
                              self.stack.path("pae"), "-sigfile", self.stack.path("sig"))
        self.report.check(done.returncode == 0, f"openssl pkeyutl alone: {done.stdout.strip()}")
        self.verify_commitment(json.loads(payload))

    def verify_commitment(self, statement):
        """The receipt shows that the certificate speaks of this patient's very numbers."""
        with open(self.receipts, encoding="ascii") as file:
            receipts = {receipt["token"]: receipt for receipt in map(json.loads, file)}
        name = f"tenants/default/memories/cancer/tokens/{self.token}"
        with open(self.std, encoding="utf-8") as file:
            numbers = json.load(file)
        row = self.patients[self.token]
        key = [(float(row[column]) - mean) / deviation for column, mean, deviation
               in zip(numbers["key_columns"], numbers["mean"], numbers["deviation"])]
        value = [float(row["diagnosis"] == category) for category in numbers["categories"]]
        computed = commitment(bytes.fromhex(receipts[name]["salt"]), name, [self.subject], key, value)
        self.report.check(computed == receipts[name]["commitment"], "the patient's numbers and the receipt's salt give the receipt's commitment")
        self.report.check(computed in json.dumps(statement), "and the certificate names exactly this commitment")

    def compare(self):
        self.report.step(f"Build a second memory that never held {self.subject}")
        self.create("control")
        excluded = self.write_ids("excluded.txt", self.held_out + [self.token])
        self.stack.expunge("import", "control", *COLUMNS, "--exclude-ids", excluded, "--use-standardization", self.std)
        control = self.fingerprint("control")
        self.report.note(f"cancer, before the purge  {self.fingerprint_before}")
        self.report.note(f"cancer, after the purge   {self.fingerprint_after}")
        self.report.note(f"control                   {control}")
        self.report.check(control == self.fingerprint_after != self.fingerprint_before,
                          "the purged memory and the one that never held the patient are the same, bit for bit")
        self.report.note("Both standardise by the same 60 numbers, which were computed with the patient still there. The\n"
                         "certificate does not cover what entered the vectors before they came to the service.")
        self.report.facts["fingerprint"] = control

    def tamper(self):
        self.report.step("Change one byte of the certificate")
        forged = self.stack.path("forged.json")
        with open(forged, "wb") as file:
            file.write(flip_one_byte(self.envelope))
        done = self.stack.run("expunge-verify", "--key", self.key, "--output", "json", forged)
        verdict = json.loads(done.stdout)["certificates"][0]
        self.report.check(done.returncode == 1 and not verdict["verified"], f"refused: {verdict['reason']}: {verdict['message']}")

    def crash(self):
        self.report.step("Kill the service with SIGKILL, and start it again")
        self.report.check(self.stack.kill() == -9, "the service is dead, without a chance to write anything")
        seconds = self.stack.start()
        self.report.check(self.fingerprint("cancer") == self.fingerprint_after,
                          f"back after {seconds:.2f} s with the same fingerprint, recomputed")
        self.report.check(self.stack.expunge("tokens", "cancer", "--subject", self.subject)["tokens"] == [],
                          "no token names the patient")
        error = self.stack.refused("purge", "--subject", self.subject)
        self.report.check((error["exit_code"], error["reason"]) == (1, "SUBJECT_UNKNOWN"), "a new purge is refused: the patient is unknown")
        again = self.stack.path("again")
        answer = self.stack.expunge("purge", "--subject", self.subject, "--legal-basis", LEGAL_BASIS, "--request-id",
                                    "demo-purge", "--out-dir", again)
        with open(answer["certificates"][0]["saved_to"], "rb") as file:
            self.report.check(file.read() == self.envelope, "the first purge, repeated with its request id, gives the same certificate, byte for byte")

    def hand_over(self):
        self.report.step("Hand an auditor everything, and stop the service")
        path = self.stack.path
        self.files = four.Files([self.certificate], self.key, path("log.vkey"), path("keys.json"), path("log"), path("old_checkpoint"),
                                self.receipts, path("bundle.jsonl"))
        self.stack.expunge("keys", "export", path(), "--key", self.key)
        self.stack.expunge("audit", "export", "cancer", "--out", self.files.bundle)
        self.report.check(all(map(os.path.exists, (self.files.vkey, self.files.keys, self.files.bundle, self.files.old_checkpoint))),
                          "its published keys, the memory's audit bundle, and a checkpoint of its log from before the purge")
        self.report.check(self.stack.stop() == 0, "the service stops cleanly when asked to")
        shutil.copytree(path("data", "log"), self.files.log)
        os.makedirs(os.path.dirname(self.page), exist_ok=True)
        done = self.stack.run("expunge", "cert", "report", self.page, self.certificate, "--key", self.key, "--keys", self.files.keys,
                              "--log", self.files.log, "--bundle", self.files.bundle)
        self.report.check(done.returncode == 0, "a page for people says what was erased, what is proven and what is not:")
        self.report.note(self.page)

    def independent(self):
        self.report.step("Four verifiers that share nothing with the service, nor with each other")
        for verdict in four.all_four(self.files):
            if verdict.accepted is None:
                self.report.skip(f"{verdict.name}: NO VERDICT: {verdict.text}")
            else:
                self.report.check(verdict.accepted, f"{verdict.name}: {'ACCEPTED' if verdict.accepted else 'REFUSED'}: {verdict.text}")

    def run(self):
        for step in (self.start, self.fill, self.read, self.purge, self.words, self.verify, self.compare, self.tamper,
                     self.crash, self.hand_over, self.independent):
            step()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="directory of expunged, expunge and expunge-verify")
    parser.add_argument("--json", metavar="FILE", help="also write the steps and their claims here")
    parser.add_argument("--page", metavar="FILE", default=os.path.join(HERE, "..", "..", "out", "demo.html"),
                        help="where the page about the certificate goes (default: out/demo.html)")
    parser.add_argument("--keep", action="store_true", help="keep the temporary directory")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # asked to stop: end the service, too
    sys.stdout.reconfigure(errors="replace")  # a terminal that has no tick still gets its line
    report, stack, error = Report(), None, None
    report.title("Expunge: a memory that can prove it forgot")
    begin = time.monotonic()
    try:
        stack = Stack(options.bin)
        Demo(stack, report, options.page).run()
    except StepFailed as failure:
        error = str(failure)
    except BrokenPipeError:  # nobody reads on, as with `| head`
        error = OUTPUT_CLOSED
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (KeyError, ValueError, OSError, subprocess.TimeoutExpired) as failure:
        error = f"{type(failure).__name__}: {failure}"
    except KeyboardInterrupt:
        error = "interrupted"
    finally:
        if stack is not None:
            stack.stop()
    summary = report.summary(time.monotonic() - begin, error)
    keep = options.keep or error not in (None, OUTPUT_CLOSED)
    if stack is not None and keep:
        print(f"Everything is in {stack.directory} (the service's log: {stack.log})")
    elif stack is not None:
        stack.remove()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=2)
    return 0 if error is None else 1


if __name__ == "__main__":
    sys.exit(main())
