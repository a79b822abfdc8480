"""The signed statement: every field in its form, and what the fields say of each other (docs/formats/certificate.md)."""

import hashlib
import re
from dataclasses import dataclass

from . import forms
from .refusal import Refused, require
from .token_tree import check_transition

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:expunge:certificate:v1"
NO_DIGEST = "0" * 64
_ROOT_OF_NOTHING = hashlib.sha256(b"").hexdigest()
REMOVALS = ("DELETION", "PURGE", "MEMORY_DELETION", "SELECTION")
KINDS = REMOVALS + ("STATE",)
# What may remain of removed tokens: all of it after the first stage, all but the first after the second.
RESIDUALS = ("SEALED_BYTES", "BACKUPS", "FREED_BLOCKS", "PROCESS_MEMORY", "LEDGER")
_MAX_NONCE_DIGITS = 128
_NODE = re.compile(r"(?:r|n(?:0|[1-9][0-9]{0,2})|d[0-9a-f]{64})\Z")


def _accepts(parse):
    """Whether a value has the form that `parse` accepts."""

    def has_form(value):
        try:
            parse(value)
        except ValueError:
            return False
        return True

    return has_form


def _is_bound(value):
    """A double of 0 or more, infinity included; never -0."""
    return is_hex_double(value) and not value.startswith("-")


def _is_positive_finite(value):
    return _is_bound(value) and 0 < forms.parse_hex_double(value) < float("inf")


def _is_positive_count(value):
    return is_count(value) and value != "0"


def _is_nonce(value):
    return is_hex(value) and len(value) <= _MAX_NONCE_DIGITS


def _is_texts(value):
    return isinstance(value, list) and value != [] and all(map(forms.is_text, value))


def _is_node(value):
    """An element of a transition (token_tree.py)."""
    return isinstance(value, str) and _NODE.match(value) is not None


def exactly(text):
    return lambda value: value == text


def one_of(*texts):
    return lambda value: isinstance(value, str) and value in texts


def list_of(has_form):
    return lambda value: isinstance(value, list) and all(map(has_form, value))


def fields(**forms_of_fields):
    """An object with exactly these fields, each in its form."""

    def has_form(value):
        return (
            isinstance(value, dict)
            and value.keys() == forms_of_fields.keys()
            and all(is_of_form(value[name]) for name, is_of_form in forms_of_fields.items())
        )

    return has_form


is_count, is_hex, is_time = _accepts(forms.parse_count), _accepts(forms.parse_hex), _accepts(forms.parse_time)
is_hex_double = _accepts(forms.parse_hex_double)
is_digest, is_text, is_text_or_empty = forms.is_digest, forms.is_text, forms.is_text_or_empty


def is_time_or_empty(value):
    return value == "" or is_time(value)


def _is_bool(value):
    return isinstance(value, bool)


_SUBJECT = fields(name=is_digest, digest=fields(hmacSha256=is_digest))
_ISSUER = fields(name=is_text, software=is_text, version=is_text, commit=is_text, configurationSha256=is_digest)
_REMOVAL_REQUEST = fields(
    idPseudonym=is_digest,
    received=is_time,
    due=is_time_or_empty,
    legalBasis=is_text_or_empty,
    tokens=is_count,
    memories=_is_positive_count,
)
_STATE_REQUEST = fields(idPseudonym=is_digest, received=is_time, legalBasis=is_text_or_empty, nonce=_is_nonce)
_MEMORY = fields(
    tenant=is_digest,
    memory=is_digest,
    sequence=_is_positive_count,
    previousPayloadSha256=is_digest,
    dimensions=fields(key=_is_positive_count, value=_is_positive_count),
)
_ALGORITHM = fields(
    name=exactly("support-vector attention memory"),
    kernel=exactly("exp(-gamma |x - y|^2)"),
    gamma=_is_positive_finite,
    boxBound=is_text,
    ridge=_is_positive_finite,
    spec=is_text,
    specVersion=is_text,
)
_STATE = fields(
    epoch=is_count,
    tokenCount=is_count,
    stateDigest=is_digest,
    tokenRoot=is_digest,
    partition=fields(margin=is_count, error=is_count, reserve=is_count, entriesRoot=is_digest),
    proof=fields(
        strict=_is_bool,
        higherPrecision=is_count,
        ties=is_count,
        marginLower=_is_bound,
        weightDistanceLower=_is_bound,
        dualityGapUpper=_is_bound,
        eigenvalueLower=_is_bound,
        eta=_is_bound,
    ),
)
_REMOVED = list_of(fields(commitment=is_digest, handle=is_digest, classBefore=one_of("S", "E", "R")))
_EXACTNESS = fields(
    claim=exactly("BITWISE"),
    scope=one_of("FULL_HISTORY", "RETAINED_SET"),
    reference=is_text,
    arithmetic=is_text,
    boundary=is_text,
)
_RESIDUAL_LIST = list_of(fields(what=is_text, text=is_text, expires=is_time_or_empty))
_KEY_DESTRUCTION = fields(
    method=exactly("KEY_DESTRUCTION"), stage=exactly("KEY_DESTROYED"), custody=is_text, residuals=_RESIDUAL_LIST
)
_FILE_REWRITE = fields(
    method=exactly("KEY_DESTRUCTION_AND_FILE_REWRITE"),
    stage=exactly("PHYSICALLY_PURGED"),
    purged=is_time,
    custody=is_text,
    residuals=_RESIDUAL_LIST,
)
_COMPLETES = fields(sequence=_is_positive_count, payloadSha256=is_digest)
_HORIZON = fields(marginLower=_is_bound, reference=is_digest, condition=is_text)

_COMMON = dict(
    kind=one_of(*KINDS),
    issued=is_time,
    issuer=_ISSUER,
    memory=_MEMORY,
    algorithm=_ALGORITHM,
    after=_STATE,
    exactness=_EXACTNESS,
    notClaimed=_is_texts,
)


def _predicate_form(kind, completing):
    if kind == "STATE":
        return fields(**_COMMON, request=_STATE_REQUEST)
    form = dict(
        _COMMON,
        request=_REMOVAL_REQUEST,
        before=_STATE,
        removed=_REMOVED,
        removedCount=is_count,
        transition=list_of(_is_node),
        erasure=_FILE_REWRITE if completing else _KEY_DESTRUCTION,
    )
    if completing:
        form["completes"] = _COMPLETES
    if kind == "SELECTION":
        form["horizon"] = _HORIZON
    return fields(**form)


def _check(condition, message):
    require(condition, "MALFORMED_STATEMENT", message)


def _check_state(state):
    partition, proof = state["partition"], state["proof"]
    _check(
        int(state["tokenCount"]) == sum(int(partition[name]) for name in ("margin", "error", "reserve")),
        "the classes of a state do not add up to its tokens",
    )
    _check(
        (state["tokenCount"] == "0") == (state["tokenRoot"] == _ROOT_OF_NOTHING),
        "either the token tree or the memory is empty, but not both",
    )
    _check(
        (partition["margin"] == "0") == (proof["weightDistanceLower"] == "inf"),
        "a distance of margin weights without any, or none with some",
    )
    _check(proof["strict"] or proof["ties"] != "0", "a class rests on an equality, and no tie is counted")


def _check_request(predicate):
    """What the whole request removed is at least what this memory lost; only a purge goes through more than one memory."""
    tokens, memories = (int(predicate["request"][name]) for name in ("tokens", "memories"))
    removed = int(predicate["removedCount"])
    if memories == 1:
        _check(tokens == removed, "the request removed other tokens than its only memory lost")
    else:
        _check(predicate["kind"] == "PURGE" and tokens - removed >= memories - 1, "the request's counts do not fit")


def _check_residuals(predicate, completing):
    named = tuple(residual["what"] for residual in predicate["erasure"]["residuals"])
    _check(named == (RESIDUALS[1:] if completing else RESIDUALS), "the residuals are not those of the stage, in order")


def _check_removal(predicate):
    before, after, removed = predicate["before"], predicate["after"], predicate["removed"]
    _check_state(before)
    commitments = [token["commitment"] for token in removed]
    _check(all(a < b for a, b in zip(commitments, commitments[1:])), "commitments are not in ascending order")
    _check(int(predicate["removedCount"]) == len(removed), "removedCount is not the number of removed tokens")
    _check(
        int(before["tokenCount"]) == int(after["tokenCount"]) + len(removed), "the counts before and after do not fit"
    )
    for name, letter in (("margin", "S"), ("error", "E"), ("reserve", "R")):
        count = sum(token["classBefore"] == letter for token in removed)
        _check(count <= int(before["partition"][name]), "more tokens of a class were removed than there were")
    _check_request(predicate)
    if predicate["kind"] == "MEMORY_DELETION":
        _check(after["tokenCount"] == "0", "a deleted memory keeps tokens")
    else:
        _check(removed, "nothing was removed")
        _check(int(after["epoch"]) > int(before["epoch"]), "the epoch after is not beyond that before")


def _check_transition(predicate):
    removed = [(bytes.fromhex(token["handle"]), bytes.fromhex(token["commitment"])) for token in predicate["removed"]]
    roots = (bytes.fromhex(predicate[state]["tokenRoot"]) for state in ("before", "after"))
    try:
        check_transition(predicate["transition"], removed, *roots)
    except Refused as refused:
        raise Refused("MALFORMED_STATEMENT", f"the transition is not one: {refused.message}") from refused


def _check_completion(predicate):
    completes, memory = predicate["completes"], predicate["memory"]
    first, sequence = int(completes["sequence"]), int(memory["sequence"])
    _check(first < sequence, "what is completed does not come before")
    _check(predicate["erasure"]["purged"] <= predicate["issued"], "files are purged later than it is said")
    if first + 1 == sequence:
        _check(
            completes["payloadSha256"] == memory["previousPayloadSha256"],
            "what is completed is not the certificate before",
        )


def _check_selection(predicate):
    before, after = predicate["before"]["partition"], predicate["after"]["partition"]
    _check(
        all(before[name] == after[name] for name in ("margin", "error", "entriesRoot")), "a selection changed weights"
    )
    _check(
        all(token["classBefore"] == "R" for token in predicate["removed"]),
        "a selection removed tokens that carry weight",
    )
    _check(
        predicate["horizon"]["reference"] == predicate["before"]["stateDigest"],
        "the horizon's reference is not the state before",
    )
    _check(predicate["exactness"]["scope"] == "RETAINED_SET", "a selection claims the full history")


def check_predicate(predicate):
    """Refused (MALFORMED_STATEMENT): a field is absent, unknown, not in its form, or contradicts another."""
    kind = predicate.get("kind") if isinstance(predicate, dict) else None
    _check(kind in KINDS if isinstance(kind, str) else False, "the kind is none that is known")
    completing = kind != "STATE" and "completes" in predicate
    _check(_predicate_form(kind, completing)(predicate), "a field is absent, unknown, or not in its form")
    _check_state(predicate["after"])
    memory = predicate["memory"]
    _check(
        (memory["sequence"] == "1") == (memory["previousPayloadSha256"] == NO_DIGEST),
        "only the first certificate follows none",
    )
    if kind != "STATE":
        _check_removal(predicate)
        _check_residuals(predicate, completing)
        _check_transition(predicate)
    if completing:
        _check_completion(predicate)
    if kind == "SELECTION":
        _check_selection(predicate)


def read_statement(payload, predicate_type):
    """(subject, predicate) of a payload in its one form. Refused: another form or type."""
    try:
        statement = forms.parse_json(payload)
    except ValueError as error:
        raise Refused("MALFORMED_STATEMENT", "the payload is not JSON as statements have it") from error
    require(
        forms.is_printable(payload) and forms.canonical_json(statement) == payload,
        "NOT_CANONICAL",
        "the payload is not in its one form",
    )
    _check(
        isinstance(statement, dict) and statement.keys() == {"_type", "subject", "predicateType", "predicate"},
        "not the fields of a statement",
    )
    require(statement["_type"] == STATEMENT_TYPE, "WRONG_STATEMENT_TYPE", "not an in-toto Statement v1")
    require(
        statement["predicateType"] == predicate_type, "WRONG_PREDICATE_TYPE", "a predicate of another type or version"
    )
    return statement["subject"], statement["predicate"]


@dataclass(frozen=True)
class Statement:
    """A certificate's predicate, with its parts by name."""

    predicate: dict

    @property
    def kind(self):
        return self.predicate["kind"]

    @property
    def sequence(self):
        return int(self.predicate["memory"]["sequence"])

    @property
    def memory(self):
        return self.predicate["memory"]["memory"]

    @property
    def issued(self):
        return forms.parse_time(self.predicate["issued"])

    @property
    def removed(self):
        return self.predicate.get("removed", [])


def check_statement(payload):
    """The Statement in a certificate's payload. Refused: it is none."""
    subject, predicate = read_statement(payload, PREDICATE_TYPE)
    _check(list_of(_SUBJECT)(subject) and len(subject) == 1, "the subject has another form")
    check_predicate(predicate)
    _check(
        subject[0]
        == {"name": predicate["memory"]["memory"], "digest": {"hmacSha256": predicate["after"]["stateDigest"]}},
        "the subject is not the memory in the state after",
    )
    return Statement(predicate)
