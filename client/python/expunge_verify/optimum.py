"""Is this partition that of the only solution of (P), and what are its weights to the last bit?

docs/math/canonical.md, section 1. H is positive definite, so a point that satisfies the KKT conditions with a multiplier is the
only solution. The conditions are checked exactly (bordered.py); so a partition that passes *is* the optimum, wherever it came
from, and one that does not is none.
"""

from dataclasses import dataclass, field
from fractions import Fraction

from .bordered import System
from .exact import as_dyadic, midpoint, next_up, to_double
from .refusal import Refused, require

MIN_RIDGE, MAX_RIDGE = 1e-8, 1.0


def box_bound(min_support, value):
    """C as a Fraction: min(1, 2/(2s - 1)) for s > 0, else min(1, value)."""
    return min(Fraction(1), Fraction(2, 2 * min_support - 1) if min_support else Fraction(value))


@dataclass
class Optimum:
    """What follows from (P) alone. Bounds are exact, or enclosed: lower <= truth <= upper."""

    weights: list
    rho: float
    ties: int = 0  # gradients that are 0 outside S, weights and rho midway between two doubles
    strict: bool = True  # no gradient outside S is 0
    margin: object = None  # callable: Fraction -> whether it is <= the smallest |g| outside S; None: no sign was needed
    weight_distance: object = (
        None  # likewise, of the smallest distance of a weight in S from 0 and C_n; None: S is empty
    )
    precisions: int = 0  # how often the arithmetic had to be made more precise than at first
    gradient: object = None  # callable: token outside S, Fraction -> sign of its g minus the Fraction
    exact_weight: list = field(default_factory=list)  # callable a token: Fraction -> sign of a* - it


class Problem:
    """(P) with its kernel values. Cost: (|S| + |E|) n kernel values."""

    def __init__(self, kernel, count, box, ridge):
        require(
            MIN_RIDGE <= ridge <= MAX_RIDGE and Fraction(ridge) > Fraction(count, 1 << 54),
            "BUNDLE_CONFIGURATION",
            "the ridge is outside of what the problem allows for this many tokens",
        )
        self.count, self.ridge = count, ridge
        self.bound = max(box, Fraction(1, count))
        self.warm_up = count * box <= 1
        self._kernel = kernel
        self._doubles = {}

    def row(self, i):
        """Kernel values of token i with every token, as doubles."""
        if i not in self._doubles:
            self._doubles[i] = [
                self._doubles[j][i] if j in self._doubles else self._kernel.value(i, j) for j in range(self.count)
            ]
        return self._doubles[i]

    def columns(self, tokens):
        """(scale, ridge, {token: row}) as integers in units of 2^-scale."""
        ridge, scale = as_dyadic(self.ridge)
        dyadic = {i: list(map(as_dyadic, self.row(i))) for i in tokens}
        scale = max([scale] + [e for row in dyadic.values() for _, e in row])
        ridge <<= scale - as_dyadic(self.ridge)[1]
        return scale, ridge, {i: [m << scale - e for m, e in row] for i, row in dyadic.items()}

    def optimum(self, partition):
        """The Optimum with this partition. Refused (NOT_OPTIMAL): it is not that of the solution."""
        support = [i for i, c in enumerate(partition) if c != "R"]
        scale, ridge, columns = self.columns(support)
        if "S" in partition:
            return _interior(
                self, partition, System(partition, self.bound.numerator, self.bound.denominator, ridge, scale, columns)
            )
        return _vertex(self, partition, scale, ridge, columns)


def _refuse(message):
    raise Refused("NOT_OPTIMAL", message)


def _interior(problem, partition, system):
    p, q = problem.bound.numerator, problem.bound.denominator
    weights = [0.0 if c == "R" else to_double(p, q) for c in partition]
    result = Optimum(weights, 0.0)
    for k, i in enumerate(system.margin):
        if system.compare(("weight", k), Fraction(0)) <= 0 or system.compare(("weight", k), Fraction(p)) >= 0:
            _refuse(f"token {i + 1} is in class S, but its weight is not between 0 and the bound")
    outside = [j for j, c in enumerate(partition) if c != "S"]
    for j in outside:
        sign = system.compare(("gradient", j), Fraction(0))
        if sign == 0:
            result.ties += 1
            result.strict = False
        elif (sign > 0) != (partition[j] == "R"):
            _refuse(f"token {j + 1} is in class {partition[j]}, but its gradient has the other sign")
    for k, i in enumerate(system.margin):
        weights[i], tie = _nearest(system, ("weight", k), Fraction(1, q), Fraction(0))
        result.ties += tie
    # rho = 1 - 2h, and the form is q h.
    result.rho, tie = _nearest(system, ("multiplier",), Fraction(-2, q), Fraction(1))
    result.ties += tie
    # |g| = 2 |form| / q.
    signs = {j: 1 if partition[j] == "R" else -1 for j in outside}
    if outside:
        result.margin = lambda bound: all(
            signs[j] * system.compare(("gradient", j), signs[j] * bound * q / 2) >= 0 for j in outside
        )
    result.gradient = lambda j, value: system.compare(("gradient", j), value * q / 2)
    places = range(len(system.margin))
    result.weight_distance = lambda bound: all(
        system.compare(("weight", k), bound * q) >= 0 and system.compare(("weight", k), p - bound * q) <= 0
        for k in places
    )
    place = {i: k for k, i in enumerate(system.margin)}

    def exact_weight(i):
        if i in place:
            return lambda value: system.compare(("weight", place[i]), value * q)
        exact = Fraction(0) if partition[i] == "R" else problem.bound
        return lambda value: _sign(exact - value)

    result.exact_weight = [exact_weight(i) for i in range(problem.count)]
    result.precisions = system.precisions
    return result


def _nearest(system, form, factor, offset):
    """(the double nearest to factor * form + offset, whether that is exactly midway between two)."""
    while True:
        low, high, bits = system.bounds(form)
        ends = sorted(factor * Fraction(end, 1 << bits) + offset for end in (low, high))
        below, above = (to_double(end.numerator, end.denominator) for end in ends)
        if below == above:
            return below, 0
        if next_up(below) == above:
            middle = midpoint(below, above)
            side = system.compare(form, (middle - offset) / factor) * (1 if factor > 0 else -1)
            if side == 0:
                return to_double(middle.numerator, middle.denominator), 1
            return (above if side > 0 else below) + 0.0, 0
        system.more()


def _vertex(problem, partition, scale, ridge, columns):
    """S is empty: everything is rational."""
    bound = problem.bound
    error = [i for i, c in enumerate(partition) if c == "E"]
    reserve = [i for i, c in enumerate(partition) if c == "R"]
    if len(error) * bound != 1:
        _refuse("no token is in class S, and the weights of class E do not sum to 1")
    totals = list(map(sum, zip(*(columns[i] for i in error))))
    for i in error:
        totals[i] += ridge
    h = [bound * Fraction(total, 1 << scale) for total in totals]
    most = max(h[i] for i in error)
    least = min((h[i] for i in reserve), default=None)
    if least is not None and most > least:
        _refuse("no token is in class S, and moving weight from class E to class R would improve the solution")
    exact_rho = 1 - (2 * most if least is None else most + least)
    result = Optimum(
        [to_double(bound.numerator, bound.denominator) if c == "E" else 0.0 for c in partition],
        to_double(exact_rho.numerator, exact_rho.denominator),
    )
    if Fraction(result.rho) != exact_rho:
        result.ties += _is_midway(exact_rho, result.rho)
    result.gradient = lambda j, value: _sign(2 * h[j] - 1 + exact_rho - value)
    if not problem.warm_up:
        gradients = [abs(2 * one - 1 + exact_rho) for one in h]
        zero = sum(g == 0 for g in gradients)
        result.ties += zero
        result.strict = zero == 0
        result.margin = lambda value: value <= min(gradients)
    result.exact_weight = [
        (lambda exact: lambda value: _sign(exact - value))(bound if c == "E" else Fraction(0)) for c in partition
    ]
    return result


def _sign(x):
    return (x > 0) - (x < 0)


def _is_midway(exact, rounded):
    """Whether an exact value lies midway between two doubles, `rounded` being one of them."""
    return any(midpoint(*sorted((rounded, other))) == exact for other in (next_up(rounded), -next_up(-rounded)))
