"""Sealed records as docs/formats/records.md has them, read from the database's logs without the program."""

import struct

from fault import files_under, unseal
from rocksdb_log import puts

FAMILIES = ("default", "memories", "tokens", "states", "certificates", "requests", "erasures", "log")


def field(content):
    return struct.pack("<Q", len(content)) + content


class Sealed:
    """One stored value: parent slot, slot, sealed record."""

    def __init__(self, family, key, value):
        self.family, self.parent, self.slot, self.sealed = FAMILIES[family], *struct.unpack("<QQ", value[:16]), value[16:]
        self.key = key
        self.associated = field(b"expunge record v1") + field(self.family.encode()) + field(key) + value[:16]

    def open(self, key):
        return None if key is None else unseal(key, self.associated, self.sealed)


def logged_values(*paths):
    """All values in the logs under `paths`, each log oldest first. Only the number of the format is not a sealed value."""
    values = []
    for path in files_under(*paths):
        if path.endswith(".log"):
            with open(path, "rb") as file:
                values += [Sealed(*put) for put in puts(file.read()) if put[1] != b"format"]
    return values


def leading_text(record, names):
    """Which of `names` is the record's first field (number 1, a string), as in records of tokens."""
    [name] = [name for name in names if record[:2 + len(name)] == b"\x0a" + bytes([len(name)]) + name.encode()]
    return name
