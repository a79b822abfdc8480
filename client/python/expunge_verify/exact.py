"""Doubles as exact numbers: integers times powers of two, and the nearest double of a rational.

Python's integers have any size, so nothing here is rounded unless a name says so.
"""

import math
import struct
from fractions import Fraction


def as_dyadic(value):
    """(m, e) with value = m 2^-e exactly, e >= 0."""
    numerator, denominator = value.as_integer_ratio()
    return numerator, denominator.bit_length() - 1


def to_double(numerator, denominator):
    """The double nearest to numerator/denominator, ties to even, subnormals included; never -0.

    REQUIRES: denominator > 0. Python divides integers with one rounding, to nearest, ties to even (tests/python compares
    it with a definition in integers alone).
    """
    return numerator / denominator + 0.0


def next_up(value):
    """The least double above a finite one."""
    return math.nextafter(value, math.inf)


def midpoint(low, high):
    """The exact middle of two neighbouring doubles."""
    return (Fraction(low) + Fraction(high)) / 2


def double_bytes(value):
    """The eight bytes of IEEE 754, little-endian."""
    return struct.pack("<d", value)
