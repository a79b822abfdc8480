#!/usr/bin/env python3
"""Prints the sealed master key of the example of docs/formats/vault.md, as hexadecimal of its 128 bytes.

Shares nothing with the program: AES-256 (FIPS 197) and GCM (NIST SP 800-38D) are written out here, and checked
against the examples of these documents first.
"""
import hashlib
import struct
import sys

from make_vault import count


def times(a, b):
    """In the field of AES: modulo x^8 + x^4 + x^3 + x + 1."""
    product = 0
    while b:
        product ^= a * (b & 1)
        a, b = a << 1 ^ 0x11B * (a >> 7), b >> 1
    return product


def s_box():
    box = []
    for byte in range(256):
        inverse = next((x for x in range(256) if times(byte, x) == 1), 0)
        turned = inverse
        for turn in range(1, 5):
            turned ^= (inverse << turn | inverse >> (8 - turn)) & 0xFF
        box.append(turned ^ 0x63)
    return box


S = s_box()


def round_keys(key):
    words = [list(key[at:at + 4]) for at in range(0, 32, 4)]
    constant = 1
    while len(words) < 60:
        word = list(words[-1])
        if len(words) % 8 == 0:
            word = [S[byte] for byte in word[1:] + word[:1]]
            word[0] ^= constant
            constant = times(constant, 2)
        elif len(words) % 8 == 4:
            word = [S[byte] for byte in word]
        words.append([a ^ b for a, b in zip(words[-8], word)])
    return [sum(words[at:at + 4], []) for at in range(0, 60, 4)]


def mix(column):
    turned = [column[i:] + column[:i] for i in range(4)]
    return [times(2, a) ^ times(3, b) ^ c ^ d for a, b, c, d in turned]


def encrypt_block(keys, block):
    state = [a ^ b for a, b in zip(block, keys[0])]
    for number, key in enumerate(keys[1:], 1):
        state = [S[state[(at + 4 * (at % 4)) % 16]] for at in range(16)]
        if number < len(keys) - 1:
            state = sum((mix(state[at:at + 4]) for at in range(0, 16, 4)), [])
        state = [a ^ b for a, b in zip(state, key)]
    return bytes(state)


def ghash(h, data):
    """Bits stand in the order of the text: bit 127 of the integers is the constant coefficient."""
    total = 0
    for at in range(0, len(data), 16):
        total ^= int.from_bytes(data[at:at + 16], "big")
        product, shifted = 0, h
        for bit in range(127, -1, -1):
            product ^= shifted * (total >> bit & 1)
            shifted = shifted >> 1 ^ (0xE1 << 120) * (shifted & 1)
        total = product
    return total.to_bytes(16, "big")


def padded(text):
    return text + bytes(-len(text) % 16)


def seal_gcm(key, iv12, associated, text):
    """ciphertext | tag."""
    keys = round_keys(key)
    ciphertext = bytearray()
    for at in range(0, len(text), 16):
        stream = encrypt_block(keys, iv12 + struct.pack(">I", at // 16 + 2))
        ciphertext += bytes(a ^ b for a, b in zip(text[at:at + 16], stream))
    lengths = struct.pack(">QQ", 8 * len(associated), 8 * len(ciphertext))
    h = int.from_bytes(encrypt_block(keys, bytes(16)), "big")
    sum_ = ghash(h, padded(associated) + padded(bytes(ciphertext)) + lengths)
    mask = encrypt_block(keys, iv12 + struct.pack(">I", 1))
    return bytes(ciphertext) + bytes(a ^ b for a, b in zip(sum_, mask))


def check_published():
    # FIPS 197, appendix C.3.
    block = encrypt_block(round_keys(count(0, 32)), bytes.fromhex("00112233445566778899aabbccddeeff"))
    assert block.hex() == "8ea2b7ca516745bfeafc49904b496089", block.hex()
    # Test cases 14 and 16 of the specification that NIST took GCM from.
    assert seal_gcm(bytes(32), bytes(12), b"", bytes(16)).hex() == (
        "cea7403d4d606b6e074ec5d3baf39d18" "d0d1c8a799996bf0265b98b5d48ab919")
    key = bytes.fromhex("feffe9928665731c6d6a8f9467308308" * 2)
    text = bytes.fromhex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39")
    associated = bytes.fromhex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
    sealed = seal_gcm(key, bytes.fromhex("cafebabefacedbaddecaf888"), associated, text)
    assert sealed[-16:].hex() == "76fc6ece0f4e1768cddf8853bb2d551b", sealed[-16:].hex()


def main():
    check_published()
    start = b"EXPMASTR" + struct.pack("<Q", 1)
    iv = count(0xD0, 12)
    file = start + iv + seal_gcm(count(0x80, 32), iv, b"expunge sealed master key" + start, count(0x00, 32))
    file += bytes(20)
    file += hashlib.sha256(file).digest()
    assert len(file) == 128
    for at in range(0, 128, 32):
        print(file[at:at + 32].hex())
    return 0


if __name__ == "__main__":
    sys.exit(main())
