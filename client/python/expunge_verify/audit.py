"""Looks at everything that was given, claim by claim."""

import os
from dataclasses import dataclass, field

from .bundle import check_digests, read_bundle, solve_again
from .bundle_claims import SolvedBundle
from .chain import Chain
from .envelope import Envelope, verify_envelope
from .key_sets import KeyChain
from .keys import PublicKey
from .log_proof import verify_log_proof
from .note import read_checkpoint
from .receipt import Receipts
from .refusal import Refused, require
from .statement import Statement, check_statement
from .tiles import Log
from .verdicts import Report, judge, not_checked, ok

PROOF_SUFFIX = ".tlog-proof"


@dataclass
class Inputs:
    """What was given, read; `certificates`: (name, content, content of the proof beside it or None)."""

    certificates: list
    whole_chains: bool = False  # a directory was given: every certificate of a memory should be there
    pinned: list = field(default_factory=list)  # PublicKeys
    log_keys: list = field(default_factory=list)  # NoteKeys
    keys: tuple = None  # (name, content)
    log: str = None  # directory
    old_checkpoint: tuple = None  # (name, content)
    receipts: tuple = None
    bundle: tuple = None


@dataclass
class Certificate:
    """One that verified so far."""

    envelope: Envelope
    key: PublicKey
    statement: Statement
    proof: bytes
    log_index: int = None
    in_another_log: bool = False  # than the newest key set names

    @property
    def predicate(self):
        return self.statement.predicate

    @property
    def sequence(self):
        return self.statement.sequence

    @property
    def payload_sha256(self):
        return self.envelope.payload_sha256


class Audit:
    def __init__(self, inputs):
        self._in = inputs
        self._report = Report()
        self._key_chain = self._log = self._bundle = self._receipts = None
        self._log_keys = list(inputs.log_keys)
        self._keys = {key.key_id: key for key in inputs.pinned}
        self._roots = {}  # of checkpoints: size -> root

    def run(self):
        """The Report."""
        if self._in.keys:
            self._read_keys()
        if self._in.log:
            self._read_log()
        if self._in.old_checkpoint:
            report = self._report.add(self._in.old_checkpoint[0])
            report.claims["consistency"] = judge(self._check_old_checkpoint)
        if self._in.receipts:
            receipts_report = self._read_receipts()
        if self._in.bundle:
            bundle_report = self._read_bundle()
        # Before any certificate is looked at, as these receipts count as opened there.
        opened = judge(self._open_receipts) if self._bundle and self._receipts else None
        read = [self._read_certificate(*certificate) for certificate in self._in.certificates]
        certificates = [certificate for _, certificate in read if certificate]
        for report, certificate in read:
            if certificate:
                self._judge_alone(report, certificate)
        self._judge_together([(report, certificate) for report, certificate in read if certificate])
        if self._bundle:
            bundle_report.claims["certificate"] = judge(self._find_certificate_of_bundle, certificates)
            if opened:
                bundle_report.claims["receipts"] = opened
        if self._receipts:
            receipts_report.claims["named"] = judge(self._find_receipts, certificates)
        return self._report

    # What comes beside certificates.

    def _read_keys(self):
        name, content = self._in.keys

        def check():
            self._key_chain = KeyChain(content, self._in.pinned)
            self._keys.update((key.key_id, key) for key in self._key_chain.certificate_keys())
            self._log_keys += self._key_chain.log_keys()
            return f"{len(self._key_chain.sets)} key sets in order, signed by keys that lead to the given one"

        self._report.add(name).claims["keys"] = judge(check)

    def _read_log(self):
        def check():
            if not self._log_keys:
                return not_checked("no key of the log is given", asked=True)
            self._log = Log(self._in.log, self._log_keys)
            self._check_checkpoint(self._log.checkpoint)
            return f"{self._log.checkpoint.size} entries, and the tree that the checkpoint signs"

        self._report.add(self._in.log).claims["log"] = judge(check)

    def _check_old_checkpoint(self):
        if self._log is None:
            return not_checked(
                "only --log, with a log that verifies, can show that it still begins as it did", asked=True
            )
        checkpoint = read_checkpoint(self._in.old_checkpoint[1], self._log_keys)
        if checkpoint.origin != self._log.checkpoint.origin:
            return not_checked("the checkpoint is of another log than the copy", asked=True)
        require(
            checkpoint.size <= self._log.checkpoint.size,
            "LOG_ROLLED_BACK",
            "the copy is shorter than the log was at this checkpoint",
        )
        self._check_checkpoint(checkpoint)
        return f"the log still begins with the {checkpoint.size} entries of this checkpoint"

    def _is_beyond_copy(self, checkpoint):
        copy = self._log and self._log.checkpoint
        return copy is not None and copy.origin == checkpoint.origin and checkpoint.size > copy.size

    def _check_checkpoint(self, checkpoint):
        """Refused: it contradicts another, the log on disk, or its key's time."""
        if self._key_chain is not None and self._key_chain.newest.origin == checkpoint.origin:
            self._key_chain.check_checkpoint_key(checkpoint.key.key, checkpoint.size)
        known = self._roots.setdefault((checkpoint.origin, checkpoint.size), checkpoint.root)
        require(known == checkpoint.root, "LOG_FORKED", "two checkpoints of one log and size have different roots")
        comparable = self._log is not None and self._log.checkpoint.origin == checkpoint.origin
        require(
            not comparable or self._is_beyond_copy(checkpoint) or self._log.begins_with(checkpoint),
            "LOG_FORKED",
            "the log on disk does not begin as this checkpoint says",
        )

    def _read_receipts(self):
        name, content = self._in.receipts

        def check():
            self._receipts = Receipts(content)
            return self._receipts.summary()

        report = self._report.add(name)
        report.claims["receipts"] = judge(check)
        return report

    def _find_receipts(self, certificates):
        named = [self._receipts.named_in(certificate.statement.removed) for certificate in certificates]
        if not any(map(any, named)):
            return not_checked("no given certificate names a token of the receipts", asked=not self._bundle)
        opened = sum(one[0] > 0 for one in named)
        if opened == 0:
            return not_checked("the receipts that certificates name are not opened")
        return f"{opened} of the given certificates name tokens of the receipts"

    def _open_receipts(self):
        opened = self._receipts.open_all(self._bundle.bundle)
        return (
            f"{opened} receipts open the commitments of the bundle's tokens"
            if opened
            else not_checked("no receipt is of a token of the bundle")
        )

    def _read_bundle(self):
        report = self._report.add(self._in.bundle[0])

        def solve():
            problem, optimum = solve_again(bundle)
            self._bundle = SolvedBundle(bundle, problem, optimum)
            return (
                f"{len(bundle.tokens)} tokens solved again: every class, weight and rho is right to the last bit "
                f"({optimum.ties} ties, {optimum.precisions} steps of higher precision)"
            )

        def check_header():
            check_digests(bundle)
            return f"digests and fingerprint {bundle.header['fingerprint'][:16]}... follow from the tokens"

        try:
            bundle = read_bundle(self._in.bundle[1])
        except Refused as refused:
            report.claims["form"] = judge(_raise, refused)
            return report
        report.claims["form"] = ok("whole, and in its one form")
        report.claims["digests"] = judge(check_header)
        report.claims["solution"] = judge(solve)
        if not report.claims["digests"].good:
            self._bundle = None
        return report

    def _find_certificate_of_bundle(self, certificates):
        digest = self._bundle.state_digest
        tied = sum(certificate.predicate["after"]["stateDigest"] == digest for certificate in certificates)
        before = sum(
            certificate.predicate.get("before", {}).get("stateDigest") == digest for certificate in certificates
        )
        require(tied + before > 0, "BUNDLE_UNRELATED", "no given certificate speaks of the bundle's state")
        return f"it is the state after {tied} and the state before {before} of the given certificates"

    # Certificates, one at a time.

    def _read_certificate(self, name, content, proof):
        """(report, Certificate or None)."""
        report, envelope, statement = self._report.add(name), None, None

        def check_signature():
            nonlocal envelope
            envelope = verify_envelope(content, self._keys)
            return f"Ed25519 by the key {envelope.key_id[:16]}..."

        def check_fields():
            nonlocal statement
            statement = check_statement(envelope.payload)
            return f"{statement.kind}, certificate {statement.sequence} of its memory, issued {statement.predicate['issued']}"

        report.claims["signature"] = judge(check_signature)
        if envelope is None:
            return report, None
        report.facts.update(keyId=envelope.key_id, payloadSha256=envelope.payload_sha256)
        report.claims["statement"] = judge(check_fields)
        if statement is None:
            return report, None
        return report, Certificate(envelope, self._keys[envelope.key_id], statement, proof)

    def _judge_alone(self, report, certificate):
        report.claims["log"] = judge(self._check_log, certificate)
        report.claims["key"] = judge(self._check_key, certificate)
        report.claims["transition"] = judge(self._check_transition, certificate)
        if self._in.receipts:
            report.claims["receipt"] = judge(self._check_receipt, certificate)
        if self._in.bundle:
            report.claims["bundle"] = judge(self._check_bundle, certificate)

    def _check_log(self, certificate):
        leaf = certificate.envelope.leaf(certificate.key)
        if not self._log_keys:
            return not_checked("no key of the log is given")
        if certificate.proof is None:
            if self._log is None:
                return not_checked(f"there is no {PROOF_SUFFIX} file beside it", asked=True)
            require(leaf in self._log.entries, "NOT_IN_LOG", "the log on disk does not have this certificate")
            index = self._log.entries.index(leaf)
            self._set_place(certificate, index, self._log.checkpoint.origin)
            return f"entry {index} of the log on disk"
        proof, checkpoint = verify_log_proof(certificate.proof, leaf, self._log_keys)
        self._check_checkpoint(checkpoint)
        if self._is_beyond_copy(checkpoint) and self._log.entries[proof.index : proof.index + 1] != [leaf]:
            return not_checked("the proof is of a larger log than the copy, which may be another one", asked=True)
        self._set_place(certificate, proof.index, checkpoint.origin)
        return f"entry {proof.index} of the {checkpoint.size} that the log's checkpoint signs"

    def _set_place(self, certificate, index, origin):
        """A key's end is told by its place in the log of the newest name."""
        if self._key_chain is None or origin == self._key_chain.newest.origin:
            certificate.log_index = index
        else:
            certificate.in_another_log = True

    def _check_key(self, certificate):
        if self._key_chain is None:
            return not_checked(
                "no file of key sets verified" if self._in.keys else "no file of key sets is given",
                asked=bool(self._in.keys),
            )
        self._key_chain.check_certificate_key(certificate.key, certificate.statement.issued, certificate.log_index)
        if certificate.in_another_log:
            # What a thief of a retired key says of the time counts for nothing: only a place would.
            return not_checked(
                "its place is in a log of another origin than the key sets name",
                asked=self._key_chain.is_retired(certificate.key),
            )
        return "it was in use when the certificate was issued"

    def _check_transition(self, certificate):
        # A statement whose transition does not lead from the one tree to the other was refused before.
        if certificate.statement.kind == "STATE":
            return not_checked("nothing was removed")
        count = len(certificate.statement.removed)
        return f"{count} removed tokens were in the memory before, and are the only difference after"

    def _check_receipt(self, certificate):
        if self._receipts is None:
            return not_checked("the file of receipts was refused", asked=True)
        opened, unopened = self._receipts.named_in(certificate.statement.removed)
        if opened + unopened == 0:
            return not_checked("it names none of the tokens of the receipts")
        if opened == 0:
            return not_checked(
                f"it names {unopened} of the receipts, not opened: without the token's content, "
                "whoever has the certificate can write such a line"
            )
        more = f"; {unopened} more are not opened" if unopened else ""
        return f"it names {opened} of the tokens of the receipts as removed{more}"

    def _check_bundle(self, certificate):
        if self._bundle is None:
            return not_checked("the bundle was refused", asked=True)
        predicate, found = certificate.predicate, []
        if predicate["after"]["stateDigest"] == self._bundle.state_digest:
            self._bundle.check_state(predicate, predicate["after"])
            scope = self._bundle.bundle.header["scope"]
            require(predicate["exactness"]["scope"] == scope, "BUNDLE_MISMATCH", "the scope is another one")
            found.append("after")
        if predicate.get("before", {}).get("stateDigest") == self._bundle.state_digest:
            self._bundle.check_state(predicate, predicate["before"])
            self._bundle.check_removed(predicate)
            found.append("before")
        if not found:
            return not_checked("the bundle is of another state")
        return f"the bundle is its state {' and '.join(found)}, and every bound under proof is true"

    # Certificates together.

    def _judge_together(self, read):
        memories = {}
        for _, certificate in read:
            memories.setdefault(certificate.statement.memory, []).append(certificate)
        chains = {memory: Chain(given) for memory, given in memories.items()}
        for report, certificate in read:
            chain = chains[certificate.statement.memory]
            report.claims["chain"] = judge(self._check_chain, chain, certificate)
            report.claims["completion"] = judge(self._check_completion, chain, certificate)

    def _check_chain(self, chain, certificate):
        if certificate.sequence == chain.first > 1 and not self._in.whole_chains:
            return not_checked(f"the certificate of sequence {chain.first - 1} is not given")
        chain.check_place(certificate)
        return f"in its place: number {certificate.sequence} of its memory's chain"

    @staticmethod
    def _check_completion(chain, certificate):
        if certificate.statement.kind == "STATE":
            return not_checked("nothing was removed")
        if "completes" in certificate.predicate:
            first = chain.check_completes(certificate)
            if first is None:
                return not_checked("the certificate that it completes is not given")
            return f"it completes certificate {first.sequence}"
        second = chain.find_completion(certificate)
        if second is None:
            return not_checked("no certificate of the second stage is given")
        return f"certificate {second.sequence} says that its files are purged"


def _raise(error):
    raise error


def proof_path(path):
    """Where the proof of a certificate lies: NAME.json, NAME.tlog-proof."""
    return os.path.splitext(path)[0] + PROOF_SUFFIX
