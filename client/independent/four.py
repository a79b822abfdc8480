"""Four verifiers of certificates that share nothing with the service, nor with each other: each named, each with a verdict.

    openssl            the signature                                            Debian's openssl
    securesystemslib   the signed envelope (DSSE)                               PyPI's securesystemslib
    sumdb              the log: checkpoint, inclusion, consistency              Go's golang.org/x/mod/sumdb
    expunge_verify     all of it, and the mathematics of an audit bundle        client/python

scripts/independent.sh puts the second and the third into build/independent (another folder: EXPUNGE_INDEPENDENT). A verifier that is not there gives no
verdict, and says how it is installed.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
PREPARED = os.environ.get("EXPUNGE_INDEPENDENT", os.path.join(ROOT, "build", "independent"))
TIMEOUT_S = 120


@dataclass
class Files:
    """What an auditor has. Paths; only the first two are needed by every verifier."""

    certificates: list
    key: str  # PEM
    vkey: str = None  # a file
    keys: str = None  # keys.json
    log: str = None  # a copy of the log's directory
    old_checkpoint: str = None
    receipts: str = None
    bundle: str = None


@dataclass
class Verdict:
    name: str
    accepted: bool  # None: it could not be run
    text: str


def _run(command, **options):
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, **options
    )


def _lines(done):
    return " | ".join((done.stdout.strip() or done.stderr.strip()).splitlines())


def openssl(files):
    """Each signature, by `openssl pkeyutl` over the bytes that DSSE signs."""
    if shutil.which("openssl") is None:
        return Verdict("openssl", None, "openssl is not installed: apt install openssl")
    with tempfile.TemporaryDirectory(prefix="expunge-openssl-") as directory:
        signed, signature = os.path.join(directory, "pae"), os.path.join(directory, "sig")
        for path in files.certificates:
            with open(path, "rb") as file:
                envelope = json.load(file)
            payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"].encode()
            with open(signed, "wb") as file:
                file.write(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))
            with open(signature, "wb") as file:
                file.write(base64.b64decode(envelope["signatures"][0]["sig"]))
            done = _run(
                [
                    "openssl",
                    "pkeyutl",
                    "-verify",
                    "-pubin",
                    "-inkey",
                    files.key,
                    "-rawin",
                    "-in",
                    signed,
                    "-sigfile",
                    signature,
                ]
            )
            if done.returncode != 0:
                return Verdict("openssl", False, f"{os.path.basename(path)}: {_lines(done)}")
    return Verdict("openssl", True, f"{_count(files)} verified: {_lines(done)}")


def securesystemslib(files):
    program = os.path.join(PREPARED, "dsse")
    if not os.access(program, os.X_OK):
        return Verdict(
            "securesystemslib",
            None,
            "not installed: ./dev demo and ./dev test get it from PyPI when that can be reached",
        )
    done = _run([program, files.key, *files.certificates])
    return Verdict(
        "securesystemslib",
        done.returncode == 0,
        _lines(done) if done.returncode else f"{_count(files)} verified as DSSE envelopes",
    )


def sumdb(files):
    program = os.path.join(PREPARED, "sumdb")
    if not os.access(program, os.X_OK):
        return Verdict(
            "sumdb", None, "not built: apt install golang-go golang-golang-x-mod-dev (or ./dev deps test), then again"
        )
    with open(files.vkey, encoding="ascii") as file:
        command = [program, "-vkey", file.read().strip()]
    command += ["-log", files.log] if files.log else []
    command += ["-old", files.old_checkpoint] if files.old_checkpoint else []
    done = _run([*command, *files.certificates])
    return Verdict("sumdb", done.returncode == 0, _lines(done))


def expunge_verify(files):
    """Every claim. The text: the verdicts on the bundle, or the first refusal."""
    command = [sys.executable, "-B", "-m", "expunge_verify", "--key", files.key, "--output", "json"]
    for option, value in (
        ("--keys", files.keys),
        ("--log", files.log),
        ("--old-checkpoint", files.old_checkpoint),
        ("--receipts", files.receipts),
        ("--bundle", files.bundle),
    ):
        command += [option, value] if value else []
    if files.vkey and not files.keys:
        command += ["--log-key", files.vkey]
    package = os.path.join(ROOT, "client", "python")
    done = _run([*command, *files.certificates], env={**os.environ, "PYTHONPATH": package})
    if done.returncode not in (0, 1) or not done.stdout:
        if "No module named 'cryptography'" in done.stderr:
            return Verdict(
                "expunge_verify", None, "it needs cryptography: apt install python3-cryptography (or ./dev deps build)"
            )
        return Verdict("expunge_verify", False, _lines(done))
    report = json.loads(done.stdout)
    claims = [(file, claim, verdict) for file in report["files"] for claim, verdict in file["claims"].items()]
    wrong = [
        f"{os.path.basename(file['file'])}: {claim}: {verdict['verdict']} {verdict.get('reason', '')}: {verdict['text']}"
        for file, claim, verdict in claims
        if verdict["verdict"] == "FAILED"
    ]
    accepted = done.returncode == 0 and report["verified"]
    if not accepted:
        return Verdict(
            "expunge_verify",
            False,
            (wrong or [f"{verdict['text']}" for _, _, verdict in claims if verdict["verdict"] != "OK"])[0],
        )
    solved = [verdict["text"] for _, claim, verdict in claims if claim == "solution"]
    held = sum(verdict["verdict"] == "OK" for _, _, verdict in claims)
    return Verdict("expunge_verify", True, "; ".join([f"{held} claims hold", *solved]))


def _count(files):
    return f"{len(files.certificates)} certificate" + ("s" if len(files.certificates) != 1 else "")


def all_four(files):
    """The four verdicts, in the order above."""
    return [verifier(files) for verifier in (openssl, securesystemslib, sumdb, expunge_verify)]
