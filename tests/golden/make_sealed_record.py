#!/usr/bin/env python3
"""Prints the sealed value of the example of docs/formats/records.md, as hexadecimal.

Shares nothing with the program: the cipher is the plain Python one of make_vault.py.
"""
import struct
import sys

from make_vault import check_published, count, seal

PSEUDONYM = "9566d0e4e0e733e7a1e44326dd87110b141ccf62c4e95d32051b249f01680eed"
HANDLE = "fc31300e4597addf1ed0ef7397256aa2cc85ec871a6f6b4b9146d62a9b242dbc"
RECORD = (
    "0a0161" "120173" "1a10000000000000f03f00000000000000c0" "2208000000000000e03f"
    "2a20202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
    "3220c84c7e1ce156a5bcce9e6503da5e74fd8f3dbda1ff4a1b90e51379ef4fdedb8d"
    "3a20" + HANDLE)


def field(text):
    return struct.pack("<Q", len(text)) + text


def main():
    check_published()
    names = struct.pack("<QQ", 1, 2)
    record_key = bytes.fromhex(PSEUDONYM + HANDLE)
    associated = field(b"expunge record v1") + field(b"tokens") + field(record_key) + names
    value = names + seal(count(0x40, 32), count(0x60, 24), associated, bytes.fromhex(RECORD))
    for at in range(0, len(value), 32):
        print(value[at:at + 32].hex())
    return 0


if __name__ == "__main__":
    sys.exit(main())
