"""Correctly rounded kernel values: RN(exp(-gamma |x - y|^2)), from docs/math/canonical.md, section 1.

The argument is computed exactly: doubles are integers times powers of two. The exponential is enclosed in an interval
by integer arithmetic, whose width is proven below, and the interval is narrowed until both of its ends round to
the same double. It ends: exp of a non-zero rational is irrational (Lindemann), so never midway between two doubles.

Enclosure of exp(-t), t = T 2^-e > 0, in units of 2^-p.
- L = floor(2^p ln 2) comes from ln 2 = sum over j >= 1 of 1/(j 2^j), with 32 bits more than p, so |L - 2^p ln 2| <= 1.
- t' = floor(2^p t) is at most one unit below 2^p t. With k = floor(t'/L), r = t' - k L lies in [0, L), and 2^p t - 2^p k ln 2 is
  within k + 1 units of it.
- s = floor(r / 2^8) is at most one unit below r/2^8 and below 2^(p-8). The series of exp(-s 2^-p) is added until a term is 0; each
  of its N terms is one division rounded down of the exact product with the term before, whose error shrinks by
  more than half each time, so a term is wrong by at most two units; the tail, alternating and falling, is
  less than one: 2N + 3 units with the one of s.
- Eight squarings, each doubling the error (the values are at most 1) and adding one unit: 2^8 (2N + 3) + 2^8 units.
- Together at most (k + 1) + 2^8 (2N + 4): r's own error counts once, as the derivative of exp(-r) is at most 1 in magnitude.
The product is exp(-t) = 2^-k exp(-r); scaling by a power of two is exact in integers.
"""

from .exact import as_dyadic, to_double

_SQUARINGS = 8
_FIRST_PRECISION = 128
_ln2_floors = {}


def _ln2_floor(p):
    """An integer within one of 2^p ln 2."""
    if p not in _ln2_floors:
        q = p + 32
        # q terms, each at most one unit of 2^-q low, and a tail below one: less than 2^32 units.
        _ln2_floors[p] = sum((1 << (q - j)) // j for j in range(1, q + 1)) >> 32
    return _ln2_floors[p]


def exp_enclosure(T, e, p):
    """(m, d, k): exp(-T 2^-e) lies strictly between (m - d) and (m + d), times 2^-(p + k). REQUIRES: T > 0, e >= 0, p >= 64."""
    ln2 = _ln2_floor(p)
    k, r = divmod((T << p) >> e, ln2)
    s = r >> _SQUARINGS
    total = term = 1 << p
    j = 0
    while term:
        j += 1
        term = term * s // (j << p)
        total += -term if j & 1 else term
    for _ in range(_SQUARINGS):
        total = total * total >> p
    return total, k + 1 + (2 * j + 4 << _SQUARINGS), k


def exp_of_negative(T, e):
    """The double nearest to exp(-T 2^-e). REQUIRES: T >= 0, e >= 0."""
    if T == 0:
        return 1.0
    # exp(-746) < 2^-1075, half of the smallest double.
    if T >> e >= 746:
        return 0.0
    p = _FIRST_PRECISION
    while True:
        m, d, k = exp_enclosure(T, e, p)
        low, high = to_double(max(m - d, 0), 1 << p + k), to_double(m + d, 1 << p + k)
        if low == high:
            return low
        p *= 2


class Kernel:
    """Kernel values of a fixed set of keys. Cost of a value: about 10 us plus 0.15 us a dimension."""

    def __init__(self, gamma, keys):
        """`keys`: lists of doubles of one length."""
        dyadic = [[as_dyadic(element) for element in key] for key in keys]
        scale = max((e for key in dyadic for _, e in key), default=0)
        self._keys = [[m << scale - e for m, e in key] for key in dyadic]
        self._gamma, gamma_scale = as_dyadic(gamma)
        self._scale = 2 * scale + gamma_scale
        self._cache = {}

    def value(self, i, j):
        """K_ij as a double."""
        if i == j:
            return 1.0
        distance = sum([(x - y) ** 2 for x, y in zip(self._keys[i], self._keys[j])])
        # Equal keys, and grids, repeat distances.
        found = self._cache.get(distance)
        if found is None:
            found = self._cache[distance] = exp_of_negative(self._gamma * distance, self._scale)
        return found
