"""A second solver, for the tests of expunge_verify: all partitions in rationals, kernel values by mpmath at 3000 bits.

It shares nothing with the package that it judges, and is as plain as can be.
"""

import itertools
from fractions import Fraction

import mpmath


def nearest_double(x):
    """The double nearest to a Fraction, ties to even, by the definition: integers alone."""
    if x == 0:
        return 0.0
    sign, x = (-1, -x) if x < 0 else (1, x)
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    exponent -= x < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, -1022) - 52)
    count, rest = divmod(x, unit)
    if rest * 2 > unit or (rest * 2 == unit and count % 2 == 1):
        count += 1
    return sign * float(count * unit)  # exact: at most 53 bits


def exact(x):
    """An mpf as a Fraction."""
    return Fraction(int(x.man)) * Fraction(2) ** int(x.exp) if x else Fraction(0)


def kernel(gamma, x, y):
    with mpmath.workprec(3000):
        distance = sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, y)), Fraction(0))
        t = Fraction(gamma) * distance
        if t > 800:  # exp(-800) is less than half of the smallest double
            return 0.0
        return nearest_double(exact(mpmath.exp(-mpmath.mpf(t.numerator) / t.denominator)))


def solve_linear(matrix, right):
    """Gauss in Fractions; None if singular."""
    n = len(matrix)
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            if factor:
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k])]
    x = [Fraction(0)] * n
    for k in range(n - 1, -1, -1):
        x[k] = (rows[k][n] - sum(rows[k][j] * x[j] for j in range(k + 1, n))) / rows[k][k]
    return x


class Solution:
    def __init__(self, classes, exact_weights, rho, gradients):
        self.classes, self.exact_weights, self.exact_rho, self.gradients = classes, exact_weights, rho, gradients
        self.weights = [nearest_double(a) for a in exact_weights]
        self.rho = nearest_double(rho) + 0.0


def solve(keys, gamma, box, ridge):
    """The Solution of (P), and the doubles K; every partition is tried."""
    n = len(keys)
    K = [[1.0 if i == j else kernel(gamma, keys[i], keys[j]) for j in range(n)] for i in range(n)]
    H = [[Fraction(K[i][j]) + (Fraction(ridge) if i == j else 0) for j in range(n)] for i in range(n)]
    bound = max(box, Fraction(1, n))
    found = []
    for classes in itertools.product("SER", repeat=n):
        a = _weights(classes, H, bound)
        if a is not None and (solution := _check(classes, a, H, bound)) is not None:
            found.append(solution)
    assert len(found) == 1, f"{len(found)} partitions are optimal"
    return found[0], K


def _weights(classes, H, bound):
    n = len(classes)
    margin = [i for i in range(n) if classes[i] == "S"]
    a = [bound if c == "E" else Fraction(0) for c in classes]
    mass = 1 - sum(a)
    if not margin:
        return a if mass == 0 else None
    right = [-sum(H[i][j] * a[j] for j in range(n)) for i in margin] + [mass]
    matrix = [[H[i][j] for j in margin] + [Fraction(-1)] for i in margin] + [
        [Fraction(1)] * len(margin) + [Fraction(0)]
    ]
    x = solve_linear(matrix, right)
    for k, i in enumerate(margin):
        a[i] = x[k]
    return a if all(0 < a[i] < bound for i in margin) else None


def _check(classes, a, H, bound):
    n = len(classes)
    h = [sum(H[i][j] * a[j] for j in range(n)) for i in range(n)]
    of = {c: [h[i] for i in range(n) if classes[i] == c] for c in "SER"}
    if of["S"]:
        rho = 1 - 2 * of["S"][0]
    elif of["R"]:
        if max(of["E"]) > min(of["R"]):
            return None
        rho = 1 - max(of["E"]) - min(of["R"])
    else:
        rho = 1 - 2 * max(of["E"])
    g = [2 * one - 1 + rho for one in h]
    if any(g[i] < 0 for i in range(n) if classes[i] == "R") or any(g[i] > 0 for i in range(n) if classes[i] == "E"):
        return None
    return Solution("".join(classes), a, rho, g)
