"""Published key sets (docs/formats/keys.md): which keys signed, and when. Trust begins with a pinned certificate key."""

from dataclasses import dataclass

from . import forms
from .envelope import Envelope, read_envelope, verify_envelope
from .forms import parse_base64, parse_count, parse_time
from .keys import PublicKey
from .note import NoteKey
from .refusal import Refused, require
from .statement import NO_DIGEST, fields, is_count, is_digest, is_text, is_time, list_of, one_of, read_statement

PREDICATE_TYPE = "urn:expunge:keys:v1"
_MAX_SETS, _MAX_KEYS = 2048, 256


def _is_raw_key(value):
    try:
        return len(parse_base64(value)) == 32
    except ValueError:
        return False


def _is_origin(value):
    return is_text(value) and len(value) <= 255 and " " not in value and "+" not in value


def _is_positive_count(value):
    return is_count(value) and value != "0"


_KEY = fields(
    keyId=is_digest,
    use=one_of("certificate", "checkpoint"),
    algorithm=one_of("Ed25519"),
    publicKey=_is_raw_key,
    custody=is_text,
    notBefore=is_time,
    notAfter=lambda value: value == "" or is_time(value),
    endLogSize=lambda value: value == "" or is_count(value),
)
_PREDICATE = fields(
    issuer=fields(name=is_text, software=is_text, version=is_text, commit=is_text),
    issued=is_time,
    sequence=_is_positive_count,
    previousPayloadSha256=is_digest,
    logOrigin=_is_origin,
    keys=list_of(_KEY),
)


@dataclass(frozen=True)
class Entry:
    """A key of a set. `not_after`, `end_log_size`: None while it is active."""

    key: PublicKey
    use: str
    custody: str
    not_before: int
    not_after: int
    end_log_size: int

    @property
    def active(self):
        return self.not_after is None

    def without_end(self):
        return self.key.raw, self.use, self.custody, self.not_before


@dataclass(frozen=True)
class KeySet:
    envelope: Envelope
    sequence: int
    previous: str
    issued: int
    origin: str
    entries: tuple

    def active(self, use):
        return next(entry for entry in self.entries if entry.use == use and entry.active)

    def keys_of(self, use):
        return [entry.key for entry in self.entries if entry.use == use]


def _check(condition, message):
    require(condition, "MALFORMED_STATEMENT", message)


def _entry(item, issued):
    key = PublicKey(parse_base64(item["publicKey"]))
    _check(key.key_id == item["keyId"], "a key has another id")
    _check((item["notAfter"] == "") == (item["endLogSize"] == ""), "a key's end is told in part")
    not_before = parse_time(item["notBefore"])
    not_after = parse_time(item["notAfter"]) if item["notAfter"] else None
    _check(not_before <= (issued if not_after is None else not_after) <= issued, "a key's time is not in order")
    return Entry(
        key,
        item["use"],
        item["custody"],
        not_before,
        not_after,
        parse_count(item["endLogSize"]) if item["endLogSize"] else None,
    )


def _read_set(envelope):
    subject, predicate = read_statement(envelope.payload, PREDICATE_TYPE)
    _check(
        _PREDICATE(predicate) and len(predicate["keys"]) <= _MAX_KEYS, "a field is absent, unknown, or not in its form"
    )
    ids = [item["keyId"] for item in predicate["keys"]]
    _check(
        subject == [{"name": key_id, "digest": {"sha256": key_id}} for key_id in ids], "the subjects are not the keys"
    )
    _check(len(set(ids)) == len(ids), "a key twice")
    _check(
        (predicate["sequence"] == "1") == (predicate["previousPayloadSha256"] == NO_DIGEST),
        "only the first set follows none",
    )
    issued = parse_time(predicate["issued"])
    entries = tuple(_entry(item, issued) for item in predicate["keys"])
    for use in ("certificate", "checkpoint"):
        _check(
            sum(entry.use == use and entry.active for entry in entries) == 1, "not exactly one active key of each use"
        )
    return KeySet(
        envelope,
        int(predicate["sequence"]),
        predicate["previousPayloadSha256"],
        issued,
        predicate["logOrigin"],
        entries,
    )


def _envelopes(content):
    try:
        parsed = forms.parse_json(content)
        sets = parsed["keySets"]
        require(
            parsed.keys() == {"keySets"}
            and isinstance(sets, list)
            and 0 < len(sets) <= _MAX_SETS
            and forms.canonical_json(parsed) == content,
            "NOT_A_KEYS_FILE",
            "the file is not a list of key sets in its one form",
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Refused("NOT_A_KEYS_FILE", "the file is not a list of key sets in its one form") from error
    return [forms.canonical_json(item) for item in sets]


def _continues(old, new, last):
    """A key stays as it is, or one that was in use ends, not before the set before was issued."""
    if old.without_end() != new.without_end():
        return False
    if old.active and not new.active:
        return new.not_after >= last
    return (old.not_after, old.end_log_size) == (new.not_after, new.end_log_size)


def _check_successor(before, after):
    require(
        after.sequence == before.sequence + 1 and after.previous == before.envelope.payload_sha256,
        "BROKEN_SEQUENCE",
        "a key set is missing, or does not follow the one before",
    )
    known = len(before.entries)
    require(
        after.issued >= before.issued
        and len(after.entries) >= known
        and all(_continues(old, new, before.issued) for old, new in zip(before.entries, after.entries))
        and all(entry.not_before >= before.active(entry.use).not_before for entry in after.entries[known:]),
        "CONTRADICTION",
        "a key set takes back what the one before says",
    )


class KeyChain:
    """All key sets of a service, in order, trusted through a pinned key."""

    def __init__(self, content, pinned):
        """`content`: keys.json; `pinned`: PublicKeys that the auditor has from elsewhere. Refused: any set is not whole."""
        self.sets = []
        signer = None
        for envelope in _envelopes(content):
            unverified = _read_set(read_envelope(envelope))
            # The first set is signed by the key that it calls active itself; each later one by that of the set before.
            signer = self.sets[-1].active("certificate").key if self.sets else unverified.active("certificate").key
            try:
                verify_envelope(envelope, {signer.key_id: signer})
            except Refused as refused:
                if refused.reason == "UNKNOWN_KEY":
                    raise Refused(
                        "WRONG_SIGNER", "a key set is not signed by the key that was active before it"
                    ) from refused
                raise
            if self.sets:
                _check_successor(self.sets[-1], unverified)
            else:
                require(unverified.sequence == 1, "BROKEN_SEQUENCE", "the first key set is missing")
            self.sets.append(unverified)
        pins = {key.key_id for key in pinned}
        require(
            any(one.envelope.key_id in pins for one in self.sets), "UNPINNED", "no key set is signed by a given key"
        )

    @property
    def newest(self):
        return self.sets[-1]

    def certificate_keys(self):
        return self.newest.keys_of("certificate")

    def log_keys(self):
        """The checkpoint keys, under every name that the log had: it begins anew under another after a restore."""
        origins = dict.fromkeys(one.origin for one in self.sets)
        return [NoteKey(origin, key) for origin in origins for key in self.newest.keys_of("checkpoint")]

    def _find(self, key, use):
        entry = next((entry for entry in self.newest.entries if entry.key.raw == key.raw), None)
        require(entry is not None, "UNLISTED_KEY", "the key sets do not list the signing key")
        require(entry.use == use, "WRONG_KEY_USE", "the key sets list the signing key for another use")
        return entry

    def check_certificate_key(self, key, issued, log_index):
        """Refused: the key was not in its time then. `log_index`: None if it is not known."""
        entry = self._find(key, "certificate")
        require(issued >= entry.not_before, "BEFORE_KEY", "it says that it was signed before its key was in use")
        if not entry.active:
            require(issued <= entry.not_after, "AFTER_KEY", "it says that it was signed after its key was retired")
            require(
                log_index is None or log_index < entry.end_log_size,
                "BEYOND_KEY",
                "its place in the log is beyond the place where its key was retired",
            )

    def is_retired(self, key):
        return not self._find(key, "certificate").active

    def check_checkpoint_key(self, key, size):
        entry = self._find(key, "checkpoint")
        require(
            entry.active or size <= entry.end_log_size,
            "BEYOND_KEY",
            "the checkpoint is larger than its key was to sign",
        )
