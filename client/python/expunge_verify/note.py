"""Signed notes (C2SP signed-note), verifier keys ("vkey") and checkpoints (C2SP tlog-checkpoint), with Ed25519."""

import base64
import hashlib
from dataclasses import dataclass

from .forms import parse_base64
from .keys import PublicKey
from .refusal import Refused, require

_ED25519 = b"\x01"
_DASH = "— "
MAX_SIGNATURES = 100
MAX_BYTES = 1 << 20


def note_key_id(name, raw):
    """The four bytes that name a key in a signature line."""
    return hashlib.sha256(name.encode("utf-8") + b"\n" + _ED25519 + raw).digest()[:4]


def _is_key_name(name):
    return name != "" and "+" not in name and not any(c.isspace() for c in name)


@dataclass(frozen=True)
class NoteKey:
    """A named Ed25519 key that signs notes."""

    name: str
    key: PublicKey

    @property
    def key_id(self):
        return note_key_id(self.name, self.key.raw)

    @property
    def vkey(self):
        return f"{self.name}+{self.key_id.hex()}+{base64.b64encode(_ED25519 + self.key.raw).decode('ascii')}"

    @classmethod
    def parse(cls, text):
        """From a vkey: NAME+HASH+BASE64. ValueError: it is none."""
        parts = text.split("+", 2)  # base64 can hold a plus
        if len(parts) != 3 or not _is_key_name(parts[0]):
            raise ValueError("not a verifier key")
        content = parse_base64(parts[2])
        if content[:1] != _ED25519 or len(content) != 33:
            raise ValueError("not an Ed25519 verifier key")
        key = cls(parts[0], PublicKey(content[1:]))
        if key.key_id.hex() != parts[1]:
            raise ValueError("the verifier key's hash does not fit")
        return key


@dataclass(frozen=True)
class Checkpoint:
    origin: str
    size: int
    root: bytes
    key: NoteKey  # that signed it


def _signature_lines(block):
    lines = block.split("\n")
    require(lines.pop() == "" and 0 < len(lines) <= MAX_SIGNATURES, "NOT_A_NOTE", "the note has no signature lines")
    for line in lines:
        name, space, text = line.removeprefix(_DASH).partition(" ")
        require(
            line.startswith(_DASH) and space and _is_key_name(name), "NOT_A_NOTE", "a signature line has another form"
        )
        try:
            signature = parse_base64(text)
        except ValueError as error:
            raise Refused("NOT_A_NOTE", "a signature is not in base64") from error
        require(len(signature) > 4, "NOT_A_NOTE", "a signature is too short")
        yield name, signature[:4], signature[4:]


def open_note(content, keys):
    """(text, NoteKey) of a note that one of `keys` signed. Signatures by other keys are ignored, a wrong one of these is not."""
    require(len(content) <= MAX_BYTES, "NOT_A_NOTE", "the note is too large")
    try:
        note = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused("NOT_A_NOTE", "the note is not UTF-8") from error
    require(not any(c < " " and c != "\n" for c in note), "NOT_A_NOTE", "the note holds control characters")
    split = note.rfind("\n\n")
    require(split >= 0, "NOT_A_NOTE", "the note has no signatures")
    text, block = note[: split + 1], note[split + 2 :]
    known = {(key.name, key.key_id): key for key in keys}
    signer = None
    for name, key_id, signature in _signature_lines(block):
        key = known.get((name, key_id))
        if key is None:
            continue
        require(
            key.key.verifies(signature, text.encode("utf-8")),
            "BAD_CHECKPOINT_SIGNATURE",
            "a known key did not sign this note",
        )
        signer = signer or key
    require(signer is not None, "UNKNOWN_CHECKPOINT_KEY", "none of the given keys signed the note")
    return text, signer


def read_checkpoint(content, keys):
    """The Checkpoint of a note. Its first line must be the name of the key that signed it."""
    text, key = open_note(content, keys)
    lines = text.split("\n")
    require(len(lines) >= 4 and lines[-1] == "" and all(lines[:-1]), "NOT_A_CHECKPOINT", "the note is no checkpoint")
    origin, size, root = lines[:3]
    require(
        size.isascii() and size.isdigit() and (size == "0" or size[0] != "0") and int(size) < 1 << 63,
        "NOT_A_CHECKPOINT",
        "the size is no number",
    )
    try:
        root = parse_base64(root)
    except ValueError as error:
        raise Refused("NOT_A_CHECKPOINT", "the root is not in base64") from error
    require(len(root) == 32, "NOT_A_CHECKPOINT", "the root is no SHA-256")
    require(origin == key.name, "WRONG_ORIGIN", "the origin is not the name of the key")
    return Checkpoint(origin, int(size), root, key)
