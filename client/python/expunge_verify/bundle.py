"""Audit bundles (docs/formats/audit_bundle.md): read, solved again from their tokens, and compared with what they state.

Nothing that a bundle states of classes, weights, rho, digests or the fingerprint is believed: all of it is computed again from the
configuration, the ids, keys, values, subjects and commitments, and must be equal in every bit. The classes serve as a
hint of where the optimum is; optimum.py proves that they are right.
"""

import hashlib
import hmac
import re
import struct
from dataclasses import dataclass

from . import forms
from .exact import double_bytes
from .kernel import Kernel
from .optimum import Optimum, Problem, box_bound
from .receipt import field
from .refusal import Refused, require
from .token_tree import token_tree_root

FORMAT = "expunge-audit-bundle-v1"
_HEADER = {
    "auditKey",
    "boxBound",
    "created",
    "entriesRoot",
    "epoch",
    "fingerprint",
    "format",
    "gamma",
    "keyDimension",
    "memory",
    "memoryPseudonym",
    "rho",
    "ridge",
    "scope",
    "stateDigest",
    "tokenCount",
    "tokenRoot",
    "valueDimension",
}
_TOKEN = {"class", "commitment", "id", "key", "subjects", "value", "weight"}
_MIN_SUPPORT = re.compile(r"2/\(2\*s-1\), s=([1-9][0-9]{0,9})\Z")
_MAX_MIN_SUPPORT = 1 << 31
_ID = re.compile(r"[A-Za-z0-9._~-]{1,128}\Z")
_SUBJECT = re.compile(r"[A-Za-z0-9._~@:+-]{1,256}\Z")
_MEMORY = re.compile(r"tenants/[A-Za-z0-9._~-]{1,128}/memories/[A-Za-z0-9._~-]{1,128}\Z")
_MAX_SUBJECTS = 64


@dataclass(frozen=True)
class Token:
    id: str
    subjects: tuple
    commitment: bytes
    key: tuple
    value: tuple
    token_class: str
    weight: float


@dataclass(frozen=True)
class Bundle:
    header: dict
    audit_key: bytes
    min_support: int  # 0: the box bound is a double
    box_value: float
    gamma: float
    ridge: float
    rho: float
    tokens: tuple

    @property
    def partition(self):
        return [token.token_class for token in self.tokens]

    def configuration_bytes(self):
        """As the state digest hashes it (server/core/digests.h)."""
        return struct.pack(
            "<IIdIdd",
            int(self.header["keyDimension"]),
            int(self.header["valueDimension"]),
            self.gamma,
            self.min_support,
            self.box_value,
            self.ridge,
        )


def _refuse_unless(condition, message):
    require(condition, "BAD_BUNDLE", message)


def _finite(text):
    value = forms.parse_hex_double(text)
    if value in (float("inf"), float("-inf")) or text.startswith("-0x0p"):
        raise ValueError("not finite, or -0")
    return value


def _vector(text, dimension):
    content = forms.parse_base64(text)
    _refuse_unless(len(content) == 8 * dimension, "a vector has another dimension")
    vector = struct.unpack(f"<{dimension}d", content)
    _refuse_unless(all(x == x and abs(x) != float("inf") for x in vector), "a vector holds a NaN or an infinity")
    _refuse_unless(struct.pack(f"<{dimension}d", *(x + 0.0 for x in vector)) == content, "a vector holds -0")
    return vector


def _box(text):
    """(s, value) of a box bound."""
    match = _MIN_SUPPORT.match(text)
    if match:
        s = int(match.group(1))
        _refuse_unless(s <= _MAX_MIN_SUPPORT, "min_support is too large")
        return s, 0.0
    value = _finite(text)
    _refuse_unless(value > 0, "the box bound is not above 0")
    return 0, value


def _name(pattern, value):
    _refuse_unless(isinstance(value, str) and pattern.match(value), "a name has another form")
    return value


def _read_token(fields, key_dimension, value_dimension):
    _refuse_unless(isinstance(fields, dict) and fields.keys() == _TOKEN, "a token has other fields")
    _refuse_unless(
        forms.is_digest(fields["commitment"]) and fields["class"] in ("S", "E", "R"),
        "a field of a token has another form",
    )
    subjects = fields["subjects"]
    _refuse_unless(
        isinstance(subjects, list) and 0 < len(subjects) <= _MAX_SUBJECTS, "a token names no subject, or too many"
    )
    subjects = tuple(_name(_SUBJECT, subject) for subject in subjects)
    _refuse_unless(all(a < b for a, b in zip(subjects, subjects[1:])), "subjects are not in ascending order")
    weight = _finite(fields["weight"])
    _refuse_unless(weight >= 0, "a weight is below 0")
    return Token(
        _name(_ID, fields["id"]),
        subjects,
        bytes.fromhex(fields["commitment"]),
        _vector(fields["key"], key_dimension),
        _vector(fields["value"], value_dimension),
        fields["class"],
        weight,
    )


def _lines(content):
    _refuse_unless(content.endswith(b"\n"), "the bundle does not end with a line feed")
    for line in content[:-1].split(b"\n"):
        _refuse_unless(forms.is_printable(line), "a line is not printable ASCII")
        fields = _parse_line(line)
        _refuse_unless(forms.canonical_json(fields) == line, "a line is not in its one form")
        yield fields


def _parse_line(line):
    try:
        return forms.parse_json(line)
    except ValueError as error:
        raise Refused("BAD_BUNDLE", "a line is not JSON as bundles have it") from error


def _check_end(content, last):
    """The last line states the digest of the bytes before it, and the number of tokens."""
    _refuse_unless(isinstance(last, dict) and last.keys() == {"sha256", "tokens"}, "the last line has other fields")
    start = content[:-1].rfind(b"\n") + 1
    _refuse_unless(
        hashlib.sha256(content[:start]).hexdigest() == last["sha256"],
        "the digest in the last line is not that of the bytes before",
    )


def read_bundle(content):
    """The Bundle in a file. Refused (BAD_BUNDLE): it is none, or was damaged or cut."""
    lines = list(_lines(content))
    _refuse_unless(len(lines) >= 2, "there is no header or no last line")
    header, last = lines[0], lines[-1]
    _refuse_unless(isinstance(header, dict) and header.keys() == _HEADER, "the header has other fields")
    _check_end(content, last)
    try:
        return _read(header, lines[1:-1], forms.parse_count(last["tokens"]))
    except (ValueError, TypeError) as error:
        raise Refused("BAD_BUNDLE", "a field is not in its form") from error


def _read(header, token_lines, stated):
    _refuse_unless(header["format"] == FORMAT, "the bundle is of another format")
    for name in ("auditKey", "entriesRoot", "fingerprint", "memoryPseudonym", "stateDigest", "tokenRoot"):
        _refuse_unless(forms.is_digest(header[name]), "a digest is not in its form")
    forms.parse_time(header["created"])
    forms.parse_count(header["epoch"])
    _name(_MEMORY, header["memory"])
    _refuse_unless(header["scope"] in ("FULL_HISTORY", "RETAINED_SET"), "the scope is none that is known")
    key_dimension, value_dimension = (forms.parse_count(header[name]) for name in ("keyDimension", "valueDimension"))
    tokens = tuple(_read_token(line, key_dimension, value_dimension) for line in token_lines)
    _refuse_unless(
        len(tokens) == stated == forms.parse_count(header["tokenCount"]), "the number of tokens is another one"
    )
    _refuse_unless(
        all(a.id < b.id for a, b in zip(tokens, tokens[1:])), "tokens are not in ascending order of their ids"
    )
    gamma, ridge = _finite(header["gamma"]), _finite(header["ridge"])
    _refuse_unless(gamma > 0 and ridge > 0, "gamma or ridge is not above 0")
    return Bundle(
        header,
        bytes.fromhex(header["auditKey"]),
        *_box(header["boxBound"]),
        gamma,
        ridge,
        _finite(header["rho"]),
        tokens,
    )


class Digests:
    """What server/core/digests.h computes, under a memory's audit key."""

    def __init__(self, bundle):
        self._bundle = bundle
        self.handles = [self._keyed(b"expunge token handle v1", token.id.encode("ascii")) for token in bundle.tokens]

    def _keyed(self, label, content):
        return hmac.new(self._bundle.audit_key, field(label) + field(content), hashlib.sha256).digest()

    def memory_pseudonym(self):
        return self._keyed(b"expunge memory pseudonym v1", self._bundle.header["memory"].encode("ascii"))

    def token_root(self):
        return token_tree_root((handle, token.commitment) for handle, token in zip(self.handles, self._bundle.tokens))

    def _entries(self):
        return [
            (handle, handle + token.token_class.encode("ascii") + double_bytes(token.weight))
            for handle, token in zip(self.handles, self._bundle.tokens)
            if token.token_class != "R"
        ]

    def entries_root(self):
        return token_tree_root((handle, self._keyed(b"expunge entry v1", entry)) for handle, entry in self._entries())

    def state_digest(self):
        entries = self._entries()
        message = (
            field(b"expunge state digest v1")
            + field(self._bundle.configuration_bytes())
            + self.token_root()
            + struct.pack("<Q", len(entries))
            + b"".join(entry for _, entry in entries)
            + double_bytes(self._bundle.rho)
        )
        return hmac.new(self._bundle.audit_key, message, hashlib.sha256).digest()


def fingerprint(bundle):
    """docs/math/canonical.md, section 1."""
    digest = hashlib.sha256(b"expunge fingerprint v1\n")
    digest.update(
        struct.pack(
            "<IIddIdQ",
            int(bundle.header["keyDimension"]),
            int(bundle.header["valueDimension"]),
            bundle.gamma,
            bundle.ridge,
            bundle.min_support,
            bundle.box_value,
            len(bundle.tokens),
        )
    )
    for token in bundle.tokens:
        digest.update(
            field(token.id.encode("ascii"))
            + struct.pack(f"<{len(token.key)}d", *token.key)
            + struct.pack(f"<{len(token.value)}d", *token.value)
            + token.token_class.encode("ascii")
            + double_bytes(token.weight)
        )
    digest.update(double_bytes(bundle.rho))
    return digest.digest()


def solve_again(bundle):
    """(Problem, Optimum) of a bundle's tokens; no Problem of an empty memory.

    Refused: a class, a weight or rho is not that of the solution.
    """
    if not bundle.tokens:
        require(double_bytes(bundle.rho) == bytes(8), "BUNDLE_RHO", "the rho of an empty memory is +0")
        return None, Optimum([], 0.0)
    problem = Problem(
        Kernel(bundle.gamma, [token.key for token in bundle.tokens]),
        len(bundle.tokens),
        box_bound(bundle.min_support, bundle.box_value),
        bundle.ridge,
    )
    optimum = problem.optimum(bundle.partition)
    for place, (token, weight) in enumerate(zip(bundle.tokens, optimum.weights)):
        require(
            double_bytes(token.weight) == double_bytes(weight),
            "BUNDLE_WEIGHT",
            f"the weight of token {place + 1} is not the solution's, rounded",
        )
    require(double_bytes(bundle.rho) == double_bytes(optimum.rho), "BUNDLE_RHO", "rho is not the solution's, rounded")
    return problem, optimum


def check_digests(bundle):
    """Refused (BUNDLE_DIGEST): the header states another digest than follows from the tokens."""
    digests = Digests(bundle)
    for name, value in (
        ("memoryPseudonym", digests.memory_pseudonym()),
        ("tokenRoot", digests.token_root()),
        ("entriesRoot", digests.entries_root()),
        ("stateDigest", digests.state_digest()),
        ("fingerprint", fingerprint(bundle)),
    ):
        require(bundle.header[name] == value.hex(), "BUNDLE_DIGEST", f"{name} is not what follows from the tokens")
