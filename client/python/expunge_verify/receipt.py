"""Receipts of Add: with the salt and the token, a commitment opens (docs/formats/certificate.md, Commitments).

A file of receipts has one JSON object a line: `token` (the full resource name), `salt` and `commitment`, as `expunge import
--receipts` writes it. With `subjects` (texts), `key` and `value` (base64 of little-endian doubles) added, the commitment is
opened, too.
"""

import hashlib
import hmac
import struct

from . import forms
from .refusal import Refused, require

_PLAIN = {"token", "salt", "commitment"}
_OPENED = _PLAIN | {"subjects", "key", "value"}


def field(content):
    """Length, 8 bytes little-endian, then the bytes."""
    return struct.pack("<Q", len(content)) + content


def commitment(salt, name, subjects, key, value):
    """`name`: the token's full resource name; `key` and `value`: lists of doubles. Returns 32 bytes."""
    message = field(b"expunge token commitment v1") + field(name.encode("ascii"))
    for subject in sorted(subject.encode("ascii") for subject in subjects):
        message += field(subject)
    for vector in (key, value):
        message += field(struct.pack(f"<{len(vector)}d", *(element + 0.0 for element in vector)))
    return hmac.new(salt, message, hashlib.sha256).digest()


def _vector(text):
    content = forms.parse_base64(text)
    if len(content) % 8 != 0:
        raise ValueError("not doubles")
    return struct.unpack(f"<{len(content) // 8}d", content)


def _opens(line):
    """Whether a full line's commitment is that of its token."""
    opened = commitment(
        bytes.fromhex(line["salt"]), line["token"], line["subjects"], _vector(line["key"]), _vector(line["value"])
    )
    return opened.hex() == line["commitment"]


class Receipts:
    """Refused (BAD_RECEIPT): a line is no receipt, or its token does not open its commitment."""

    def __init__(self, content):
        self.commitments = set()
        self._opened_commitments = set()  # by their line, or by a bundle
        self._salts = {}  # token's name -> (salt, commitment)
        self._opened = 0
        for number, text in enumerate(content.splitlines(), 1):
            try:
                self._add(forms.parse_json(text), number)
            except (ValueError, TypeError, AttributeError) as error:
                raise Refused("BAD_RECEIPT", f"line {number} is no receipt") from error

    def _add(self, line, number):
        require(
            isinstance(line, dict)
            and line.keys() in (_PLAIN, _OPENED)
            and isinstance(line["token"], str)
            and forms.is_digest(line["salt"])
            and forms.is_digest(line["commitment"]),
            "BAD_RECEIPT",
            f"line {number} is no receipt",
        )
        if line.keys() == _OPENED:
            require(_opens(line), "BAD_RECEIPT", f"the token of line {number} does not open its commitment")
            self._opened += 1
            self._opened_commitments.add(line["commitment"])
        self.commitments.add(line["commitment"])
        self._salts[line["token"]] = bytes.fromhex(line["salt"]), line["commitment"]

    def summary(self):
        return f"{len(self.commitments)} receipts, {self._opened} of them opened with their tokens"

    def open_all(self, bundle):
        """How many tokens of an audit bundle have a receipt. Refused (BAD_RECEIPT): one does not open its commitment."""
        opened = set()
        for token in bundle.tokens:
            name = f"{bundle.header['memory']}/tokens/{token.id}"
            if name in self._salts:
                salt, stated = self._salts[name]
                content = commitment(salt, name, token.subjects, token.key, token.value)
                require(
                    content.hex() == stated == token.commitment.hex(),
                    "BAD_RECEIPT",
                    "a receipt does not open the commitment of a token of the bundle",
                )
                opened.add(stated)
        self._opened_commitments |= opened
        return len(opened)

    def named_in(self, removed):
        """(opened, unopened): how many of a certificate's removed tokens the receipts are of.

        A receipt that nobody opened says nothing: whoever has the certificate can write its line.
        """
        named = [token["commitment"] for token in removed if token["commitment"] in self.commitments]
        opened = sum(commitment in self._opened_commitments for commitment in named)
        return opened, len(named) - opened
