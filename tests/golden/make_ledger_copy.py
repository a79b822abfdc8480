#!/usr/bin/env python3
"""Prints the example of docs/formats/ledger_copy.md: the bytes of each part in hexadecimal, and what they are.

Shares nothing with the program: written from the description of the format, with SHA-256 of the standard library.
"""
import hashlib
import struct
import sys

CERTIFICATES, REQUESTS, ERASURES = 4, 5, 6


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def number(value):
    return struct.pack("<Q", value)


def count(first, size):
    return bytes(range(first, first + size))


def show(data, what):
    for at in range(0, len(data), 32):
        print(f"    {data[at:at + 32].hex():<66}{what if at == 0 else ''}".rstrip())


def entry(before, tenant, records):
    """Prints one entry, and returns its check."""
    parts = [(tenant, "tenant"), (number(len(records)), "records")]
    for table, name, key, value in records:
        parts += [(number(table), f"table: {name}"), (number(len(key)), "length of the key"),
                  (key, "key"), (number(len(value)), "length of the value"), (value, "value")]
    body = b"".join(data for data, _ in parts)
    length = number(len(body))
    head = length + sha256(b"head", before, length)[:8]
    check = sha256(before, head, body)
    show(length, f"length of the body, {len(body)}")
    show(head[8:], "check of the length")
    for data, what in parts:
        show(data, what)
    show(check, "check")
    return check


def main():
    owner, tenant = count(0x00, 32), count(0x20, 32)

    def numbered(which):
        return tenant + struct.pack(">Q", which)

    header = b"EXPLEDGR" + number(1) + owner
    show(header[:8], "EXPLEDGR")
    show(header[8:16], "format")
    show(owner, "owner")
    first = entry(sha256(header), tenant, [
        (CERTIFICATES, "certificates", numbered(1), count(0x80, 12)),
        (ERASURES, "erasures", numbered(1), count(0x90, 10)),
        (REQUESTS, "requests", tenant + count(0x40, 32), count(0xA0, 8)),
    ])
    entry(first, tenant, [(CERTIFICATES, "certificates", numbered(2), count(0xB0, 12))])
    return 0


if __name__ == "__main__":
    sys.exit(main())
