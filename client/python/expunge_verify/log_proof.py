"""Proofs of inclusion in a transparency log: files of C2SP tlog-proof."""

from dataclasses import dataclass

from .forms import parse_base64
from .merkle import leaf_hash, root_from_inclusion
from .note import read_checkpoint
from .refusal import Refused, require

_HEADER = "c2sp.org/tlog-proof@v1"
_MAX_PATH = 63


@dataclass(frozen=True)
class LogProof:
    index: int
    path: list
    checkpoint: bytes  # the signed note


def _is_index(text):
    return text.isascii() and text.isdigit() and (text == "0" or text[0] != "0") and int(text) < 1 << 63


def read_log_proof(content):
    """The LogProof in a file. Refused (NOT_A_PROOF): it is none."""
    head, blank, checkpoint = content.partition(b"\n\n")
    require(blank, "NOT_A_PROOF", "there is no checkpoint")
    try:
        lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError as error:
        raise Refused("NOT_A_PROOF", "the proof is not ASCII") from error
    require(lines[0] == _HEADER, "NOT_A_PROOF", "the first line is another one")
    rest = lines[1:]
    try:
        if rest and rest[0].startswith("extra "):
            parse_base64(rest.pop(0).removeprefix("extra "))
        require(
            rest and rest[0].startswith("index ") and _is_index(rest[0].removeprefix("index ")),
            "NOT_A_PROOF",
            "there is no index",
        )
        index = int(rest.pop(0).removeprefix("index "))
        path = [parse_base64(line) for line in rest]
    except ValueError as error:
        raise Refused("NOT_A_PROOF", "a line is not in base64") from error
    require(len(path) <= _MAX_PATH and all(len(hash_) == 32 for hash_ in path), "NOT_A_PROOF", "a hash is no SHA-256")
    return LogProof(index, path, checkpoint)


def verify_log_proof(content, leaf, log_keys):
    """(LogProof, Checkpoint) of a file that proves that a log of one of `log_keys` has `leaf`."""
    proof = read_log_proof(content)
    checkpoint = read_checkpoint(proof.checkpoint, log_keys)
    root = root_from_inclusion(proof.index, checkpoint.size, leaf_hash(leaf), proof.path)
    require(root == checkpoint.root, "NOT_IN_LOG", "the checkpoint's tree does not have this certificate at this index")
    return proof, checkpoint
