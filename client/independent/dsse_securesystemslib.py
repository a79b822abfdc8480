"""Verifies the signature of certificates with securesystemslib, the library behind TUF and in-toto, and nothing of Expunge.

    python3 dsse_securesystemslib.py KEY.pem CERTIFICATE...

Needs `pip install 'securesystemslib[crypto]'`. Prints a line for each certificate; exit code 0: all verify; 1: one is refused.
"""

import json
import os
import sys

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey


def main(key_path, *paths):
    with open(key_path, "rb") as file:
        public = load_pem_public_key(file.read())
    for path in paths:
        try:
            with open(path, "rb") as file:
                envelope = Envelope.from_dict(json.load(file))
            [key_id] = envelope.signatures
            # The library selects signatures by the key's id; what they are checked against is the given key.
            accepted = envelope.verify([SSlibKey.from_crypto(public, keyid=key_id)], threshold=1)
        except (VerificationError, ValueError, KeyError, TypeError) as error:
            print(f"{os.path.basename(path)}: refused: {type(error).__name__}")
            return 1
        print(f"{os.path.basename(path)}: {len(accepted)} valid signature by {key_id[:16]}...")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
