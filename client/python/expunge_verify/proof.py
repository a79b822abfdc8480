"""The bounds that a certificate states of a state (docs/math/canonical.md, 4.4), held against the exact solution."""

from fractions import Fraction

from .exact import as_dyadic
from .forms import parse_hex_double
from .refusal import require

_UNIT_ROUNDOFF = Fraction(1, 1 << 53)
_SMALLEST_NORMAL = 2.0**-1022


def _bound(proof, name):
    """The Fraction that a field states; None: infinity."""
    value = parse_hex_double(proof[name])
    return None if value == float("inf") else Fraction(value)


def _require(condition, name):
    require(condition, "BUNDLE_PROOF", f"proof.{name} is not true of the solution")


def check_proof(bundle, problem, optimum, proof):
    """Refused (BUNDLE_PROOF): a bound of `proof`, a certificate's, is not one. `problem`: None for an empty memory."""
    _check_lower(_bound(proof, "marginLower"), optimum.margin, "marginLower")
    _check_lower(_bound(proof, "weightDistanceLower"), optimum.weight_distance, "weightDistanceLower")
    _require(not proof["strict"] or optimum.strict, "strict")
    _require(int(proof["ties"]) >= optimum.ties, "ties")
    eigenvalue = _bound(proof, "eigenvalueLower")
    _require(
        eigenvalue is not None and eigenvalue <= Fraction(bundle.ridge) - Fraction(len(bundle.tokens), 1 << 54),
        "eigenvalueLower",
    )
    eta = _bound(proof, "eta")
    _require(eta is None or _weights_are_within(bundle, optimum, eta), "eta")
    gap = _bound(proof, "dualityGapUpper")
    _require(gap is None or problem is None or duality_gap(bundle, problem) <= gap, "dualityGapUpper")


def _check_lower(bound, holds, name):
    if holds is not None:
        _require(bound is not None and holds(bound), name)


def _weights_are_within(bundle, optimum, eta):
    """|a - a*| <= eta a for every token."""
    weights = [token.weight for token in bundle.tokens if token.token_class != "R"]
    # Rounding to nearest moves a normal number by no more than 2^-53 of it.
    if eta >= _UNIT_ROUNDOFF and all(weight >= _SMALLEST_NORMAL for weight in weights):
        return True
    return all(
        sign(Fraction(token.weight) * (1 - eta)) >= 0 and sign(Fraction(token.weight) * (1 + eta)) <= 0
        for token, sign in zip(bundle.tokens, optimum.exact_weight)
    )


def duality_gap(bundle, problem):
    """g'a - min { g'b : b feasible } at the stored weights and rho, exact."""
    support = [i for i, token in enumerate(bundle.tokens) if token.weight != 0]
    scale, ridge, columns = problem.columns(support)
    weights = {i: as_dyadic(bundle.tokens[i].weight) for i in support}
    weight_scale = max(e for _, e in weights.values())
    totals = [0] * len(bundle.tokens)
    for i, (m, e) in weights.items():
        m <<= weight_scale - e
        totals = [total + m * k for total, k in zip(totals, columns[i])]
        totals[i] += m * ridge
    unit = 1 << scale + weight_scale
    # 2 Ha; the constants of g move both terms by the same times their masses.
    twice = [Fraction(2 * total, unit) for total in totals]
    constant = Fraction(bundle.rho) - 1
    a = [Fraction(token.weight) for token in bundle.tokens]
    at_weights = sum(twice[i] * a[i] for i in support) + constant * sum(a)
    rest, least = Fraction(1), constant
    for g in sorted(twice):
        share = min(rest, problem.bound)
        least += share * g
        rest -= share
        if rest == 0:
            break
    return at_weights - least
