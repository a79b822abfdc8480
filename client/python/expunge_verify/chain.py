"""What certificates of one memory say together: that none is missing, and which removals are complete."""

from .refusal import Refused

# What the second certificate of a removal has of its own.
_OWN = ("issuer", "issued", "completes", "erasure", "memory")


def _removal(predicate):
    """What both certificates of a removal must say."""
    memory = {
        name: value for name, value in predicate["memory"].items() if name not in ("sequence", "previousPayloadSha256")
    }
    residuals = [residual for residual in predicate["erasure"]["residuals"] if residual["what"] != "SEALED_BYTES"]
    said = {name: value for name, value in predicate.items() if name not in _OWN}
    return said, memory, predicate["erasure"]["custody"], residuals


def _epoch(certificate):
    return int(certificate.predicate["after"]["epoch"])


class Chain:
    """The certificates of one memory, by sequence. Each has `sequence`, `payload_sha256` and `predicate`."""

    def __init__(self, certificates):
        self._by_sequence = {}
        self._doubles = set()
        for certificate in certificates:
            other = self._by_sequence.setdefault(certificate.sequence, certificate)
            if other.payload_sha256 != certificate.payload_sha256:
                self._doubles.add(certificate.sequence)
        self.first = min(self._by_sequence)
        self._second_stages = {}  # payload of the first -> the second
        self._reached = {}  # sequence -> the greatest epoch up to there
        reached = 0
        for sequence, certificate in sorted(self._by_sequence.items()):
            reached = self._reached[sequence] = max(reached, _epoch(certificate))
            if "completes" in certificate.predicate:
                self._second_stages[certificate.predicate["completes"]["payloadSha256"]] = certificate

    def check_place(self, certificate):
        """Refused: another certificate has the same sequence, the one before is missing, or is another one."""
        sequence, memory = certificate.sequence, certificate.predicate["memory"]
        if sequence in self._doubles:
            raise Refused("CHAIN_FORKED", f"two certificates of this memory have sequence {sequence}")
        if sequence == 1:
            return
        before = self._by_sequence.get(sequence - 1)
        if before is None:
            raise Refused(
                "CHAIN_GAP", f"the certificate of sequence {sequence - 1} of this memory is not among the given ones"
            )
        if before.payload_sha256 != memory["previousPayloadSha256"]:
            raise Refused(
                "CHAIN_BROKEN", f"the certificate of sequence {sequence - 1} is not the one that this one follows"
            )
        # A second stage repeats the states of its first.
        if "completes" not in certificate.predicate and self._reached[sequence - 1] > _epoch(certificate):
            raise Refused("CHAIN_BROKEN", "the memory's epoch goes back")

    def find_completion(self, certificate):
        """The certificate that completes this one, or None. Refused: they speak of different things."""
        second = self._second_stages.get(certificate.payload_sha256)
        if second is not None:
            self.check_completes(second)
        return second

    def check_completes(self, certificate):
        """For a certificate of the second stage: the first, which it completes, or None if that is not among the given ones.
        Refused: they speak of different things."""
        completes = certificate.predicate["completes"]
        first = self._by_sequence.get(int(completes["sequence"]))
        if first is None:
            return None
        if first.payload_sha256 != completes["payloadSha256"]:
            raise Refused("BAD_COMPLETION", "the certificate of the sequence that is completed is another one")
        if _removal(certificate.predicate) != _removal(first.predicate):
            raise Refused("BAD_COMPLETION", "the second certificate does not say of the removal what the first says")
        return first
