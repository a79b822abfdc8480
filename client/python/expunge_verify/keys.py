"""Ed25519 public keys: from PEM or raw bytes, named by the SHA-256 of their SubjectPublicKeyInfo."""

import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key, Encoding, PublicFormat

# DER of SubjectPublicKeyInfo of an Ed25519 key (RFC 8410) but for the key itself, which ends it.
_SPKI_PREFIX = bytes.fromhex("302a300506032b6570032100")


class PublicKey:
    """An Ed25519 public key. `key_id` is 64 hexadecimal digits."""

    def __init__(self, raw):
        """ValueError: not 32 bytes."""
        self._key = Ed25519PublicKey.from_public_bytes(raw)
        self.raw = bytes(raw)
        self.spki_sha256 = hashlib.sha256(_SPKI_PREFIX + self.raw).digest()
        self.key_id = self.spki_sha256.hex()

    @classmethod
    def from_pem(cls, content):
        """ValueError: not the PEM of an Ed25519 public key."""
        key = load_pem_public_key(content)
        if not isinstance(key, Ed25519PublicKey):
            raise ValueError("not an Ed25519 key")
        return cls(key.public_bytes(Encoding.Raw, PublicFormat.Raw))

    def verifies(self, signature, message):
        try:
            self._key.verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True
