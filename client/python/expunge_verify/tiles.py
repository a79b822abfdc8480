"""A log on disk: the directory layout of C2SP tlog-tiles, read whole."""

import os

from .merkle import leaf_hash, root_of
from .note import read_checkpoint
from .refusal import Refused, require

_WIDTH = 256
ENTRY_BYTES = 128


def tile_name(index):
    """The path of a tile below its level: 1234067 is x001/x234/067."""
    parts = [f"{index % 1000:03d}"]
    while index >= 1000:
        index //= 1000
        parts.insert(0, f"x{index % 1000:03d}")
    return os.path.join(*parts)


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Refused("LOG_INCOMPLETE", "a file of the log cannot be read") from error


def _read_tile(directory, kind, index, width):
    """The bytes of a tile with at least `width` items: the full one, or the partial one of exactly this width."""
    path = os.path.join(directory, "tile", kind, tile_name(index))
    if width < _WIDTH and not os.path.isfile(path):
        path += f".p/{width}"
    return _read(path)


def _widths(size):
    """(index, number of items) of the tiles that hold `size` items."""
    return [(index, min(_WIDTH, size - index * _WIDTH)) for index in range(-(-size // _WIDTH))]


def _entries(content, count):
    """The first `count` entries of a bundle: two bytes of length, big-endian, then the entry."""
    result, position = [], 0
    while len(result) < count:
        length = int.from_bytes(content[position : position + 2], "big")
        entry = content[position + 2 : position + 2 + length]
        require(
            len(content) >= position + 2 and len(entry) == length, "LOG_DAMAGED", "a bundle of entries is cut short"
        )
        require(length == ENTRY_BYTES, "LOG_DAMAGED", "an entry has another size")
        result.append(entry)
        position += 2 + length
    return result


class Log:
    """All entries of a log, whose root is that of its checkpoint."""

    def __init__(self, directory, log_keys):
        self.checkpoint = read_checkpoint(_read(os.path.join(directory, "checkpoint")), log_keys)
        self.entries = []
        for index, width in _widths(self.checkpoint.size):
            self.entries += _entries(_read_tile(directory, "entries", index, width), width)
        self.hashes = [leaf_hash(entry) for entry in self.entries]
        require(
            root_of(self.hashes) == self.checkpoint.root, "LOG_DAMAGED", "the entries do not have the checkpoint's root"
        )
        self._check_tiles(directory)

    def _check_tiles(self, directory):
        """Every tile holds the hashes that follow from the entries."""
        level, hashes = 0, self.hashes
        while hashes:
            for index, width in _widths(len(hashes)):
                expected = b"".join(hashes[index * _WIDTH : index * _WIDTH + width])
                content = _read_tile(directory, str(level), index, width)
                require(
                    content[: len(expected)] == expected,
                    "LOG_DAMAGED",
                    "a tile holds other hashes than follow from the entries",
                )
            full = len(hashes) // _WIDTH
            hashes = [root_of(hashes[index * _WIDTH : (index + 1) * _WIDTH]) for index in range(full)]
            level += 1

    def begins_with(self, checkpoint):
        """Whether an older checkpoint is of this log."""
        return checkpoint.size <= len(self.hashes) and root_of(self.hashes[: checkpoint.size]) == checkpoint.root
