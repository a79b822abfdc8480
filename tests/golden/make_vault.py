#!/usr/bin/env python3
"""Prints the example of docs/formats/vault.md, as hexadecimal of its 384 bytes.

Shares nothing with the program: ChaCha20 and Poly1305 (RFC 8439) and HChaCha20 (draft-irtf-cfrg-xchacha-03) are
written out here, and checked against the examples of these documents first.
"""
import hashlib
import struct
import sys


def quarter(x, a, b, c, d):
    for p, q, r, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[p] = (x[p] + x[q]) & 0xFFFFFFFF
        y = x[r] ^ x[p]
        x[r] = (y << turn | y >> (32 - turn)) & 0xFFFFFFFF


def rounds(x):
    for _ in range(10):
        for i in range(4):
            quarter(x, i, i + 4, i + 8, i + 12)
        for i in range(4):
            quarter(x, i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12)
    return x


def start(key, tail):
    return list(struct.unpack("<16I", b"expand 32-byte k" + key + tail))


def hchacha20(key, nonce16):
    x = rounds(start(key, nonce16))
    return struct.pack("<8I", *x[:4], *x[12:])


def chacha20(key, counter, nonce12, text):
    out = bytearray()
    for at in range(0, len(text), 64):
        begin = start(key, struct.pack("<I", counter + at // 64) + nonce12)
        block = rounds(list(begin))
        stream = struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(begin, block)))
        out += bytes(a ^ b for a, b in zip(text[at:at + 64], stream))
    return bytes(out)


def poly1305(key, message):
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for at in range(0, len(message), 16):
        total = (total + int.from_bytes(message[at:at + 16] + b"\x01", "little")) * r % (2**130 - 5)
    return ((total + int.from_bytes(key[16:], "little")) % 2**128).to_bytes(16, "little")


def padded(text):
    return text + bytes(-len(text) % 16)


def seal(key, nonce24, associated, text):
    """nonce | ciphertext | tag."""
    inner, nonce12 = hchacha20(key, nonce24[:16]), bytes(4) + nonce24[16:]
    ciphertext = chacha20(inner, 1, nonce12, text)
    tag = poly1305(
        chacha20(inner, 0, nonce12, bytes(32)),
        padded(associated) + padded(ciphertext) + struct.pack("<QQ", len(associated), len(ciphertext)))
    return nonce24 + ciphertext + tag


def count(first, size):
    return bytes(range(first, first + size))


def check_published():
    """Appendix A.3 of the draft: the AEAD as a whole."""
    text = (b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
            b"sunscreen would be it.")
    associated = bytes.fromhex("50515253c0c1c2c3c4c5c6c7")
    sealed = seal(count(0x80, 32), count(0x40, 24), associated, text)
    assert sealed[-16:].hex() == "c0875924c1c7987947deafd8780acf49", sealed[-16:].hex()
    assert sealed[24:40].hex() == "bd6d179d3e83d43b9576579493c0e939", sealed[24:40].hex()


def main():
    check_published()
    master, tenant, token = count(0x00, 32), count(0x20, 32), count(0x40, 32)
    vault_id = count(0xA0, 16)

    header = b"EXPVAULT" + struct.pack("<Q", 1) + vault_id + struct.pack("<Q", 258)
    header += seal(master, count(0x60, 24), b"expunge vault header v1" + header, b"") + bytes(16)
    header += hashlib.sha256(header).digest()

    def slot(number, parent, parent_key, key, nonce):
        associated = b"expunge vault slot v1" + vault_id + struct.pack("<QQ", number, parent)
        return struct.pack("<Q", parent) + seal(parent_key, nonce, associated, key) + bytes(48)

    places = (header, slot(1, 0, master, tenant, count(0x78, 24)), slot(2, 1, tenant, token, count(0xB0, 24)))
    for place in places:
        assert len(place) == 128
        for at in range(0, 128, 32):
            print(place[at:at + 32].hex())
    return 0


if __name__ == "__main__":
    sys.exit(main())
