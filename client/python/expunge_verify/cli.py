"""The command line."""

import argparse
import os
import sys

from . import __version__
from .audit import Audit, Inputs, proof_path
from .envelope import MAX_BYTES
from .keys import PublicKey
from .note import NoteKey

_DESCRIPTION = """Checks certificates of Expunge offline: a second opinion that shares no code with expunge-verify.

Give a certificate (its proof of inclusion, NAME.tlog-proof, is found beside it) or a directory of them, and what
you trust: a certificate key in PEM, from a source of your own. Everything else is optional, and adds claims."""
_EPILOG = """verdicts: OK, FAILED with a reason, or NOT_CHECKED with why, for each file and claim.
exit codes: 0, nothing failed and every claim that was asked for was checked; 1, something was refused, or stays open;
2, wrong usage, or a file cannot be read."""


class UsageError(Exception):
    pass


def _read(path, limit=None):
    try:
        with open(path, "rb") as file:
            return file.read() if limit is None else file.read(limit + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def _certificates_in(directory, keys):
    names = sorted(name for name in os.listdir(directory) if name.endswith(".json"))
    paths = [os.path.join(directory, name) for name in names]
    return [path for path in paths if keys is None or not os.path.samefile(path, keys)]


def _certificate(path):
    beside = proof_path(path)
    return path, _read(path, MAX_BYTES), _read(beside, MAX_BYTES) if os.path.isfile(beside) else None


def _public_key(path):
    try:
        return PublicKey.from_pem(_read(path, MAX_BYTES))
    except ValueError as error:
        raise UsageError(f"{path} is not an Ed25519 public key in PEM") from error


def _log_key(text):
    """A vkey, or a file with one."""
    for candidate in (lambda: text, lambda: _read(text, MAX_BYTES).decode("utf-8").strip()):
        try:
            return NoteKey.parse(candidate())
        except ValueError:
            continue
    raise UsageError("--log-key is neither a verifier key nor a file with one")


def _named(path):
    return None if path is None else (path, _read(path))


def _inputs(options):
    certificates, whole = [], False
    for path in options.paths:
        if os.path.isdir(path):
            whole = True
            inside = _certificates_in(path, options.keys)
            if not inside:
                raise UsageError(f"{path} has no certificate")
            certificates += map(_certificate, inside)
        else:
            certificates.append(_certificate(path))
    if options.log is not None and not os.path.isdir(options.log):
        raise UsageError(f"{options.log} is not a directory")
    return Inputs(
        certificates,
        whole,
        [_public_key(path) for path in options.key],
        [_log_key(text) for text in options.log_key],
        _named(options.keys),
        options.log,
        _named(options.old_checkpoint),
        _named(options.receipts),
        _named(options.bundle),
    )


def _parser():
    parser = argparse.ArgumentParser(
        prog="expunge_verify",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a certificate, or a directory of certificates")
    parser.add_argument(
        "--key", action="append", default=[], metavar="PEM", help="a certificate key that you trust; repeatable"
    )
    parser.add_argument(
        "--keys", metavar="FILE", help="keys.json: the published key sets, one of them signed by a --key"
    )
    parser.add_argument(
        "--log-key",
        action="append",
        default=[],
        metavar="VKEY|FILE",
        help="a verifier key of the log; --keys brings its own",
    )
    parser.add_argument("--log", metavar="DIR", help="a copy of the log, in tlog-tiles layout")
    parser.add_argument(
        "--old-checkpoint", metavar="FILE", help="a checkpoint that you kept: the log must still begin with it"
    )
    parser.add_argument("--receipts", metavar="FILE", help="receipts of Add, one JSON object a line")
    parser.add_argument("--bundle", metavar="FILE", help="an audit bundle: solved again from nothing, and compared")
    parser.add_argument("--output", choices=("text", "json"), default="text")
    parser.add_argument("--version", action="version", version=f"expunge_verify {__version__}")
    return parser


def main(arguments=None):
    """Returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        if not options.key:
            raise UsageError("--key is required: a certificate key that you trust")
        report = Audit(_inputs(options)).run()
    except UsageError as error:
        print(f"expunge_verify: {error}", file=sys.stderr)
        return 2
    print(report.as_json() if options.output == "json" else report.as_text())
    return 0 if report.verified else 1


def run():
    """The installed command."""
    sys.exit(main())
