"""What ties an audit bundle to certificates: every field of a state that the bundle's tokens determine."""

from fractions import Fraction

from .bundle import Digests
from .forms import parse_hex_double
from .proof import check_proof
from .refusal import require

_CLASSES = (("margin", "S"), ("error", "E"), ("reserve", "R"))


def _require(condition, what):
    require(condition, "BUNDLE_MISMATCH", f"{what} is another one in the certificate than follows from the bundle")


class SolvedBundle:
    """A bundle whose digests and solution were checked (bundle.py)."""

    def __init__(self, bundle, problem, optimum):
        self.bundle, self.problem, self.optimum = bundle, problem, optimum
        self._places = None

    @property
    def state_digest(self):
        return self.bundle.header["stateDigest"]

    def check_state(self, predicate, state):
        """Refused: `state`, of a certificate's predicate and with the bundle's digest, states what the bundle contradicts.

        Its epoch may be another one: a memory from which a token was removed again is in the state that it was in before.
        """
        header, memory, algorithm = self.bundle.header, predicate["memory"], predicate["algorithm"]
        _require(memory["memory"] == header["memoryPseudonym"], "the memory")
        _require(
            memory["dimensions"] == {"key": header["keyDimension"], "value": header["valueDimension"]}, "a dimension"
        )
        for name in ("gamma", "ridge", "boxBound"):
            _require(algorithm[name] == header[name], name)
        for name in ("tokenCount", "tokenRoot"):
            _require(state[name] == header[name], name)
        partition = state["partition"]
        _require(partition["entriesRoot"] == header["entriesRoot"], "entriesRoot")
        for name, letter in _CLASSES:
            _require(partition[name] == str(self.bundle.partition.count(letter)), f"the number of {name} tokens")
        check_proof(self.bundle, self.problem, self.optimum, state["proof"])

    def check_removed(self, predicate):
        """Refused: a token that was removed from the bundle's state is not in the bundle as the certificate says, or a
        selection's horizon is further than the solution's gradients of the dropped tokens."""
        if self._places is None:
            digests = Digests(self.bundle)
            self._places = {
                (handle.hex(), token.commitment.hex(), token.token_class): place
                for place, (handle, token) in enumerate(zip(digests.handles, self.bundle.tokens))
            }
        places = [
            self._places.get((token["handle"], token["commitment"], token["classBefore"]))
            for token in predicate["removed"]
        ]
        _require(None not in places, "a removed token")
        if "horizon" in predicate:
            self._check_horizon(predicate["horizon"], places)

    def _check_horizon(self, horizon, places):
        margin = parse_hex_double(horizon["marginLower"])
        holds = margin < float("inf") and all(self.optimum.gradient(place, Fraction(margin)) >= 0 for place in places)
        require(holds, "BUNDLE_PROOF", "horizon.marginLower is above the gradient of a dropped token")
