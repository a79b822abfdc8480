"""DSSE v1 envelopes with one Ed25519 signature, in the one form of docs/formats/certificate.md."""

import hashlib
from dataclasses import dataclass

from .forms import canonical_json, parse_base64, parse_json
from .refusal import Refused, require

MAX_BYTES = 64 << 20
PAYLOAD_TYPE = "application/vnd.in-toto+json"


def pre_authentication_encoding(payload_type, payload):
    """The signed bytes of a DSSE v1 envelope."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


@dataclass(frozen=True)
class Envelope:
    content: bytes
    payload: bytes
    key_id: str
    signature: bytes
    canonical: bool

    @property
    def pae(self):
        return pre_authentication_encoding(PAYLOAD_TYPE, self.payload)

    @property
    def payload_sha256(self):
        return hashlib.sha256(self.payload).hexdigest()

    def leaf(self, key):
        """The 128 bytes that the log has of it: SHA-256 of the signed bytes, signature, SHA-256 of the key."""
        return hashlib.sha256(self.pae).digest() + self.signature + key.spki_sha256


def _decode(text):
    try:
        return parse_base64(text)
    except ValueError as error:
        raise Refused("BAD_BASE64", "payload or signature is not in standard base64") from error


def _parse(content):
    require(content, "EMPTY", "the file is empty")
    require(len(content) <= MAX_BYTES, "TOO_LARGE", "the file has more than 64 MiB")
    try:
        parsed = parse_json(content)
    except ValueError as error:
        raise Refused("NOT_JSON", "the file is not JSON, or not as an envelope has it") from error
    require(
        isinstance(parsed, dict)
        and set(parsed) == {"payload", "payloadType", "signatures"}
        and isinstance(parsed["payload"], str)
        and isinstance(parsed["payloadType"], str)
        and isinstance(parsed["signatures"], list),
        "NOT_AN_ENVELOPE",
        "the file is not a DSSE envelope",
    )
    for signature in parsed["signatures"]:
        require(
            isinstance(signature, dict)
            and set(signature) == {"keyid", "sig"}
            and all(isinstance(value, str) for value in signature.values()),
            "NOT_AN_ENVELOPE",
            "a signature has another shape",
        )
    return parsed


def read_envelope(content):
    """The parts of an envelope, its signature not yet checked. Refused: its shape is another one."""
    parsed = _parse(content)
    require(parsed["payloadType"] == PAYLOAD_TYPE, "WRONG_PAYLOAD_TYPE", "the payload is of another type")
    payload = _decode(parsed["payload"])
    signatures = [_decode(signature["sig"]) for signature in parsed["signatures"]]
    require(len(signatures) == 1, "SIGNATURE_COUNT", "there is not exactly one signature")
    return Envelope(
        content, payload, parsed["signatures"][0]["keyid"], signatures[0], canonical_json(parsed) == content
    )


def verify_envelope(content, keys):
    """The Envelope, signed by one of `keys` (by key id) and in its one form. Refused: anything else."""
    envelope = read_envelope(content)
    require(envelope.key_id in keys, "UNKNOWN_KEY", "none of the given keys is the one that signed")
    require(
        keys[envelope.key_id].verifies(envelope.signature, envelope.pae),
        "BAD_SIGNATURE",
        "the signature is not one of this payload by this key",
    )
    require(envelope.canonical, "NOT_CANONICAL", "the file is not in the one form of an envelope")
    return envelope
