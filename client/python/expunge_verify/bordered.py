"""The system of a partition with margin tokens, solved as exactly as a question needs.

    H_SS b - h 1 = -p K_SE 1,     1'b = q - p |E|                 (docs/math/canonical.md, (B), times q, with C_n = p/q)

b = q a, and h stands for q h there. Everything is an integer here: kernel values, the ridge and gradients in units of 2^-e,
unknowns in units of 2^-F, where F grows as long as a question is open. The solution is refined on a factor in doubles,
which is never trusted: residuals are exact, and bound the error by (4.2) of that page. What no precision would decide, an exact
equality, is decided by a gap: with D the determinant of the bordered integer matrix, b_i, 2^e h and the gradients are integers
divided by D, so that a difference from u/w that is below 1/(D w) is zero. D is at most (2^e (1 + ridge))^m m / lambda
(Hadamard for a positive definite matrix; 1'H^-1 1 <= m / lambda).
"""

from fractions import Fraction
from math import isqrt, sqrt

from .refusal import require

_FIRST_BITS = 192
_SECOND_BITS = 704


def _ceil_div(a, b):
    return -(-a // b)


class _Factor:
    """L L' of a positive definite matrix in doubles; solves approximately."""

    def __init__(self, rows):
        self._rows = []
        for i, row in enumerate(rows):
            done = []
            for j, earlier in enumerate(self._rows):
                done.append((row[j] - sum(map(float.__mul__, done, earlier))) / earlier[j])
            pivot = row[i] - sum(map(float.__mul__, done, done))
            # A poor factor costs steps of refinement, no truth.
            done.append(sqrt(pivot) if pivot > 1e-14 else 1e-7)
            self._rows.append(done)
        self._columns = [[row[j] for row in self._rows[j:]] for j in range(len(rows))]
        self._ones = self._solve([1.0] * len(rows))

    def _solve(self, right):
        x = []
        for row, value in zip(self._rows, right):
            x.append((value - sum(map(float.__mul__, x, row))) / row[-1])
        for i in range(len(x) - 1, -1, -1):
            column = self._columns[i]
            x[i] = (x[i] - sum(map(float.__mul__, x[i + 1 :], column[1:]))) / column[0]
        return x

    def step(self, residual, mass):
        """(db, dh) with H db - dh 1 = residual and 1'db = mass."""
        x = self._solve(residual)
        dh = (mass - sum(x)) / sum(self._ones)
        return [a + dh * b for a, b in zip(x, self._ones)], dh


class System:
    """REQUIRES: margin tokens; ridge > n 2^-54.

    Forms, which `bounds` and `compare` take: ("weight", k), b of the k-th margin token; ("multiplier",), h; ("gradient", j),
    (Ha)_j q - h of any token j outside S. Cost: O(m^3) once; O(m n) for the gradients at each of few precisions.
    """

    def __init__(self, partition, p, q, ridge, scale, columns):
        """`partition`: the class of each token. C_n = p/q. ridge in units of 2^-scale; `columns`: for each token of S or E, the
        row of its kernel values in these units."""
        self._p, self._q, self.scale = p, q, scale
        self.margin = [i for i, c in enumerate(partition) if c == "S"]
        errors = [i for i, c in enumerate(partition) if c == "E"]
        self._rows = [columns[i] for i in self.margin]
        # What the tokens of E contribute to (Ha)_j q, the ridge included.
        self._fixed = (
            [p * value for value in map(sum, zip(*(columns[i] for i in errors)))] if errors else [0] * len(partition)
        )
        for i in errors:
            self._fixed[i] += p * ridge
        self._mass = q - p * len(errors)
        m = len(self.margin)
        self._matrix = [[row[j] for j in self.margin] for row in self._rows]
        for k in range(m):
            self._matrix[k][k] += ridge
        unit = 1 << scale
        self._factor = _Factor([[value / unit for value in row[: k + 1]] for k, row in enumerate(self._matrix)])
        # lambda and (1 + ridge)/lambda, exact.
        self._lambda = Fraction(ridge, unit) - Fraction(m, 1 << 54)
        self._ratio = (1 + Fraction(ridge, unit)) / self._lambda
        self._one_and_ridge = 1 + Fraction(ridge, unit)
        gap = m * (scale + 1) + (m / self._lambda).__ceil__().bit_length()
        self._gap_bits = gap  # D < 2^gap, as 1 + ridge <= 2
        self._bits = 0
        self._b, self._h = [0] * m, 0
        self.precisions = -1  # how often more bits were needed than at first
        self._refine(_FIRST_BITS)

    # Precision.

    def _refine(self, bits):
        """Refines to about 2^-bits, and sets the error bounds."""
        shift = bits - self._bits
        self._bits = bits
        self._b, self._h = [b << shift for b in self._b], self._h << shift
        self.precisions += 1
        best = None
        while True:
            residual, sigma = self._residual()
            size = max([abs(r) for r in residual] + [abs(sigma) << self.scale])
            # Within a few units, or no longer falling: rounding of the unknowns themselves is what is left.
            if best is not None and size * 2 > best:
                break
            best, kept = size, (list(self._b), self._h)
            if size.bit_length() <= self.scale + 2:
                break
            self._correct(residual, sigma, size.bit_length())
        # A factor in doubles gains at least ten bits a step for every ridge that is allowed: this is a guard, not an outcome.
        require(best.bit_length() <= self.scale + 64, "UNDECIDED", "the refinement does not converge")
        self._b, self._h = kept
        self._set_errors(*self._residual())
        self._gradients = None

    def _residual(self):
        """(r, sigma): r in units of 2^-(F + e), sigma in units of 2^-F; h is kept times 2^e."""
        b, F = self._b, self._bits
        residual = [
            self._h - (self._fixed[i] << F) - sum(map(int.__mul__, row, b)) for i, row in zip(self.margin, self._matrix)
        ]
        return residual, (self._mass << F) - sum(b)

    def _correct(self, residual, sigma, size):
        """One step of refinement; `size`: the length of the largest residual in bits."""
        whole = 1 << size
        db, dh = self._factor.step([r / whole for r in residual], (sigma << self.scale) / whole)
        # In units of 2^(size - e - F); 2^60 keeps the digits of the double.
        shift = size - self.scale - 60
        self._b = [b + _scaled(d, shift) for b, d in zip(self._b, db)]
        self._h += _scaled(dh, shift + self.scale)

    def _set_errors(self, residual, sigma):
        """(4.2): |b - b*| <= ea, |h - h*| <= eh, in units of 2^-F and 2^-(F + e)."""
        r = isqrt(sum(x * x for x in residual)) + 1  # units of 2^-(F + e)
        s = abs(sigma) << self.scale
        root = Fraction(isqrt(_ceil_div(self._ratio.numerator << 60, self._ratio.denominator)) + 1, 1 << 30)
        ea = (r / self._lambda + s * root).__ceil__()
        eh = (root * r + self._one_and_ridge * s).__ceil__()
        m_root = isqrt(len(self.margin)) + 1
        self._error = {"weight": (ea >> self.scale) + 1, "multiplier": eh, "gradient": m_root * ea + eh}

    # Questions.

    def bounds(self, form):
        """(low, high, bits): the form lies in [low, high] 2^-bits."""
        if form[0] == "weight":
            center, bits = self._b[form[1]], self._bits
        elif form[0] == "multiplier":
            center, bits = self._h, self._bits + self.scale
        else:
            center, bits = self._gradient(form[1]), self._bits + self.scale
        error = self._error[form[0]]
        return center - error, center + error, bits

    def _gradient(self, j):
        if self._gradients is None:
            F, h = self._bits, self._h
            totals = [(fixed << F) - h for fixed in self._fixed]
            for b, row in zip(self._b, self._rows):
                totals = [total + b * k for total, k in zip(totals, row)]
            self._gradients = totals
        return self._gradients[j]

    def more(self):
        """Doubles the precision, in effect."""
        self._refine(_SECOND_BITS if self._bits < _SECOND_BITS else 2 * self._bits)

    def compare(self, form, target):
        """The sign of form - target, exact; `target`: a Fraction."""
        u, w = target.numerator, target.denominator
        # The form is N / D, h and gradients N / (2^e D): beyond this no difference is left but zero.
        enough = self._gap_bits + w.bit_length() + (0 if form[0] == "weight" else self.scale) + 1
        while True:
            low, high, bits = self.bounds(form)
            if low * w > u << bits:
                return 1
            if high * w < u << bits:
                return -1
            if (high - low) << enough < 1 << bits:
                return 0
            self.more()


def _scaled(value, shift):
    """value 2^60 as an integer, times 2^shift, rounded."""
    whole = int(value * 2.0**60)
    return whole << shift if shift >= 0 else whole >> -shift
