"""Checks of a certificate with nothing of Expunge: Python's standard library and openssl.

The formats are public: DSSE v1 (https://github.com/secure-systems-lab/dsse) and, for commitments, our
docs/formats/certificate.md.
"""

import base64
import hashlib
import hmac
import json
import struct


def split_envelope(envelope):
    """(payload type, payload, signature) of a DSSE envelope."""
    parsed = json.loads(envelope)
    [signature] = parsed["signatures"]
    return (parsed["payloadType"], base64.b64decode(parsed["payload"], validate=True),
            base64.b64decode(signature["sig"], validate=True))


def pre_auth_encoding(payload_type, payload):
    """The bytes that DSSE signs."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def field(content):
    return struct.pack("<Q", len(content)) + content


def doubles(numbers):
    return struct.pack(f"<{len(numbers)}d", *numbers)


def commitment(salt, token_name, subjects, key, value):
    """How a certificate speaks of a token: hex HMAC-SHA256 under the salt of its receipt."""
    message = field(b"expunge token commitment v1") + field(token_name.encode())
    for subject in sorted(subjects):
        message += field(subject.encode())
    message += field(doubles(key)) + field(doubles(value))
    return hmac.new(salt, message, hashlib.sha256).hexdigest()


def flip_one_byte(envelope):
    """The envelope with one bit of one byte of its payload flipped: still base64, still JSON."""
    changed = bytearray(envelope)
    at = len(changed) // 2
    while not bytes([changed[at] ^ 1]).isalnum():
        at += 1
    changed[at] ^= 1
    return bytes(changed)
