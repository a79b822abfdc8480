"""Makes what the service would: certificates, logs, key sets and bundles, for the tests of expunge_verify.

Written from the documents, plainly and recursively; it uses nothing of the package that it tests.
"""

import base64
import hashlib
import json
import struct

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

TYPE = "application/vnd.in-toto+json"
ORIGIN = "expunge.invalid/log/test"


def sha256(content):
    return hashlib.sha256(content).digest()


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def b64(content):
    return base64.b64encode(content).decode("ascii")


def digest(number):
    """Some digest, another one for each number."""
    return sha256(b"digest %d" % number).hex()


class Key:
    """A key pair made from a number: the same on every run."""

    def __init__(self, number):
        self._private = Ed25519PrivateKey.from_private_bytes(sha256(b"test key %d" % number))
        public = self._private.public_key()
        self.raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        self.spki = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.key_id = sha256(self.spki).hex()

    def sign(self, content):
        return self._private.sign(content)

    def vkey(self, name):
        return f"{name}+{self.note_id(name).hex()}+{b64(bytes([1]) + self.raw)}"

    def note_id(self, name):
        return sha256(name.encode() + b"\n\x01" + self.raw)[:4]


def pae(payload):
    return b"DSSEv1 %d %s %d %s" % (len(TYPE), TYPE.encode(), len(payload), payload)


def envelope(payload, key):
    """The bytes of an envelope."""
    return canonical(
        {
            "payload": b64(payload),
            "payloadType": TYPE,
            "signatures": [{"keyid": key.key_id, "sig": b64(key.sign(pae(payload)))}],
        }
    )


def payload_of(content):
    return base64.b64decode(json.loads(content)["payload"])


def leaf(content, key):
    parsed = json.loads(content)
    return (
        sha256(pae(base64.b64decode(parsed["payload"])))
        + base64.b64decode(parsed["signatures"][0]["sig"])
        + sha256(key.spki)
    )


# The log.


def mth(entries):
    """RFC 6962, section 2.1, as it is written there."""
    if not entries:
        return sha256(b"")
    if len(entries) == 1:
        return sha256(b"\0" + entries[0])
    k = split(len(entries))
    return sha256(b"\1" + mth(entries[:k]) + mth(entries[k:]))


def split(n):
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def path(m, entries):
    if len(entries) == 1:
        return []
    k = split(len(entries))
    return path(m, entries[:k]) + [mth(entries[k:])] if m < k else path(m - k, entries[k:]) + [mth(entries[:k])]


def consistency(m, entries, whole=True):
    if m == len(entries):
        return [] if whole else [mth(entries)]
    k = split(len(entries))
    if m <= k:
        return consistency(m, entries[:k], whole) + [mth(entries[k:])]
    return consistency(m - k, entries[k:], False) + [mth(entries[:k])]


def checkpoint(entries, key, origin=ORIGIN):
    text = f"{origin}\n{len(entries)}\n{b64(mth(entries))}\n".encode()
    return note(text, key, origin)


def note(text, key, name):
    return text + b"\n" + f"— {name} {b64(key.note_id(name) + key.sign(text))}\n".encode()


def log_proof(index, entries, key, origin=ORIGIN):
    lines = ["c2sp.org/tlog-proof@v1", f"index {index}", *map(b64, path(index, entries)), "", ""]
    return "\n".join(lines).encode() + checkpoint(entries, key, origin)


# The token tree.


def bits(handle):
    return "".join(f"{byte:08b}" for byte in handle)


def tree(leaves):
    """(root, None) of {handle: content}."""
    if not leaves:
        return sha256(b"")
    if len(leaves) == 1:
        [(handle, content)] = leaves.items()
        return sha256(b"\0" + handle + content)
    at = first_difference(leaves)
    left = {h: c for h, c in leaves.items() if bits(h)[at] == "0"}
    right = {h: c for h, c in leaves.items() if bits(h)[at] == "1"}
    return sha256(b"\1" + struct.pack(">H", at) + tree(left) + tree(right))


def first_difference(leaves):
    texts = [bits(handle) for handle in leaves]
    return next(i for i in range(256) if len({text[i] for text in texts}) == 2)


def transition(leaves, removed):
    """The elements of a transition: `removed`, a set of handles of `leaves`."""
    if not leaves:
        return []
    if not removed & leaves.keys():
        return ["d" + tree(leaves).hex()]
    if len(leaves) == 1:
        return ["r"]
    at = first_difference(leaves)
    left = {h: c for h, c in leaves.items() if bits(h)[at] == "0"}
    right = {h: c for h, c in leaves.items() if bits(h)[at] == "1"}
    return [f"n{at}"] + transition(left, removed) + transition(right, removed)


# Forms.


def field(content):
    return struct.pack("<Q", len(content)) + content


def hex_double(value):
    if value in (float("inf"), float("-inf")):
        return str(value)
    head, exponent = float(value).hex().split("p")
    head = head.rstrip("0") if "." in head else head
    return (head[:-1] if head.endswith(".") else head) + "p" + exponent


# Key sets.


def key_entry(key, use, not_before="2026-01-01T00:00:00Z", not_after="", end=""):
    return {
        "keyId": key.key_id,
        "use": use,
        "algorithm": "Ed25519",
        "publicKey": b64(key.raw),
        "custody": "a file",
        "notBefore": not_before,
        "notAfter": not_after,
        "endLogSize": end,
    }


def key_set(sequence, previous, entries, issued="2026-01-01T00:00:00Z", origin=ORIGIN):
    """The payload of a set."""
    return canonical(
        {
            "_type": "https://in-toto.io/Statement/v1",
            "predicateType": "urn:expunge:keys:v1",
            "subject": [{"name": entry["keyId"], "digest": {"sha256": entry["keyId"]}} for entry in entries],
            "predicate": {
                "issuer": {"name": "Expunge", "software": "expunged", "version": "0", "commit": "0"},
                "issued": issued,
                "sequence": str(sequence),
                "previousPayloadSha256": sha256(previous).hex() if previous else "0" * 64,
                "logOrigin": origin,
                "keys": entries,
            },
        }
    )


def keys_file(envelopes):
    return b'{"keySets":[' + b",".join(envelopes) + b"]}"
