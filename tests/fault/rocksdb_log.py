"""Reads RocksDB's write-ahead log without RocksDB: what is put, change by change.

The file is a row of blocks of 32 KiB. In them lie fragments: checksum (4 bytes), length (2), type (1), content; types 1 to 4
are whole, first, middle and last, and 5 to 8 the same with a log number (4 bytes) before the content. The fragments of a
batch make up: sequence number (8), count (4), then its operations.
"""

import struct

BLOCK = 32768
DELETION, VALUE, FAMILY_DELETION, FAMILY_VALUE = 0, 1, 4, 5


def batches(content):
    """The batches in a log, oldest first. What follows a fragment that cannot be one is padding or a torn write."""
    batch = bytearray()
    for block in range(0, len(content), BLOCK):
        at, end = block, min(block + BLOCK, len(content))
        while at + 7 <= end:
            length, kind = struct.unpack_from("<HB", content, at + 4)
            if not 1 <= kind <= 8:
                break
            head = 7 if kind <= 4 else 11
            kind = (kind - 1) % 4 + 1
            batch += content[at + head:at + head + length]
            at += head + length
            if kind in (1, 4):
                yield bytes(batch)
                batch.clear()


def varint(content, at):
    value = shift = 0
    while True:
        byte = content[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def piece(content, at):
    length, at = varint(content, at)
    if at + length > len(content):
        raise ValueError("a batch is cut short")
    return content[at:at + length], at + length


def puts(content):
    """(family's number, key, value) of everything that a log puts."""
    for batch in batches(content):
        at = 12
        while at < len(batch):
            kind, at = batch[at], at + 1
            family = 0
            if kind in (FAMILY_DELETION, FAMILY_VALUE):
                family, at = varint(batch, at)
            if kind not in (DELETION, VALUE, FAMILY_DELETION, FAMILY_VALUE):
                raise ValueError(f"an operation of kind {kind}, which the store doesn't use")
            key, at = piece(batch, at)
            if kind in (VALUE, FAMILY_VALUE):
                value, at = piece(batch, at)
                yield family, key, value
