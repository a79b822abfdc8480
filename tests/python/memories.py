"""A small memory as the service would keep it, its certificates and its bundles, for the tests of expunge_verify.

Its canonical state is that of the oracle, which tries every partition; nothing here is of the package that it tests.
"""

import copy
import hashlib
import hmac
import json
import struct
from fractions import Fraction

import oracle
from maker import b64, canonical, digest, field, hex_double, sha256, transition, tree


class Memory:
    """A small memory: tokens by id, its canonical state by the oracle, its certificates as a chain."""

    def __init__(self, name="tenants/t/memories/m", gamma=0.5, min_support=3, box_value=0.0, ridge=1e-6, number=0):
        self.name, self.gamma, self.min_support, self.box_value, self.ridge = name, gamma, min_support, box_value, ridge
        self.audit_key = sha256(b"audit key of " + name.encode() + bytes([number]))
        self.tokens = {}  # id -> (subjects, key, value, salt)
        self.epoch = 0
        self.chain = []  # payloads

    def add(self, token, key, value=(1.0,), subjects=("s",)):
        self.tokens[token] = (
            tuple(sorted(subjects)),
            tuple(map(float, key)),
            tuple(map(float, value)),
            sha256(token.encode()),
        )

    def keyed(self, label, content):
        return hmac.new(self.audit_key, field(label) + field(content), hashlib.sha256).digest()

    def handle(self, token):
        return self.keyed(b"expunge token handle v1", token.encode())

    def commitment(self, token):
        subjects, key, value, salt = self.tokens[token]
        message = field(b"expunge token commitment v1") + field(f"{self.name}/tokens/{token}".encode())
        message += b"".join(field(subject.encode()) for subject in subjects)
        message += field(struct.pack(f"<{len(key)}d", *key)) + field(struct.pack(f"<{len(value)}d", *value))
        return hmac.new(salt, message, hashlib.sha256).digest()

    def receipt(self, token, opened=False):
        subjects, key, value, salt = self.tokens[token]
        line = {"token": f"{self.name}/tokens/{token}", "salt": salt.hex(), "commitment": self.commitment(token).hex()}
        if opened:
            line.update(
                subjects=list(subjects),
                key=b64(struct.pack(f"<{len(key)}d", *key)),
                value=b64(struct.pack(f"<{len(value)}d", *value)),
            )
        return json.dumps(line).encode() + b"\n"

    def leaves(self):
        return {self.handle(token): self.commitment(token) for token in self.tokens}

    @property
    def box(self):
        return min(Fraction(1), Fraction(2, 2 * self.min_support - 1) if self.min_support else Fraction(self.box_value))

    def solve(self):
        """(ids in order, oracle.Solution or None)."""
        ids = sorted(self.tokens)
        if not ids:
            return ids, None
        return ids, oracle.solve([self.tokens[i][1] for i in ids], self.gamma, self.box, self.ridge)[0]

    def dimensions(self):
        some = next(iter(self.tokens.values()), ((), (0.0,), (0.0,)))
        return len(some[1]), len(some[2])

    def state(self):
        """A state as a certificate has it, with true bounds; and the lines of the bundle's tokens."""
        ids, solution = self.solve()
        classes = solution.classes if solution else ""
        weights = solution.weights if solution else []
        rho = solution.rho if solution else 0.0
        entries = b""
        leaves = {}
        for i, c, a in zip(ids, classes, weights):
            if c != "R":
                entry = self.handle(i) + c.encode() + struct.pack("<d", a)
                entries += entry
                leaves[self.handle(i)] = self.keyed(b"expunge entry v1", entry)
        d, dv = self.dimensions()
        configuration = struct.pack("<IIdIdd", d, dv, self.gamma, self.min_support, self.box_value, self.ridge)
        message = field(b"expunge state digest v1") + field(configuration) + tree(self.leaves())
        message += struct.pack("<Q", len(leaves)) + entries + struct.pack("<d", rho)
        self.rho, self.entries = rho, list(zip(ids, classes, weights))
        return {
            "epoch": str(self.epoch),
            "tokenCount": str(len(ids)),
            "stateDigest": hmac.new(self.audit_key, message, hashlib.sha256).hexdigest(),
            "tokenRoot": tree(self.leaves()).hex(),
            "partition": {
                "margin": str(classes.count("S")),
                "error": str(classes.count("E")),
                "reserve": str(classes.count("R")),
                "entriesRoot": tree(leaves).hex(),
            },
            "proof": self.proof(solution, classes),
        }

    def proof(self, solution, classes):
        inf = float("inf")
        n = len(classes)
        warm = n == 0 or n * self.box <= 1
        outside = [abs(g) for g, c in zip(solution.gradients, classes) if c != "S"] if solution and not warm else []
        bound = max(self.box, Fraction(1, n)) if n else 0
        inside = [min(a, bound - a) for a, c in zip(solution.exact_weights, classes) if c == "S"] if solution else []
        ties = sum(g == 0 for g in outside)
        return {
            "strict": ties == 0,
            "higherPrecision": "0",
            "ties": str(ties),
            "marginLower": hex_double(down(min(outside)) if outside else inf),
            "weightDistanceLower": hex_double(down(min(inside)) if inside else inf),
            "dualityGapUpper": hex_double(2.0**-40),
            "eigenvalueLower": hex_double(down((Fraction(self.ridge) - Fraction(n, 2**54)) * (1 - Fraction(1, 2**40)))),
            "eta": hex_double(2.0**-53),
        }

    def fingerprint(self):
        d, dv = self.dimensions()
        content = b"expunge fingerprint v1\n" + struct.pack(
            "<IIddIdQ", d, dv, self.gamma, self.ridge, self.min_support, self.box_value, len(self.entries)
        )
        for i, c, a in self.entries:
            _, key, value, _ = self.tokens[i]
            content += field(i.encode()) + struct.pack(f"<{d}d{dv}d", *key, *value) + c.encode() + struct.pack("<d", a)
        return sha256(content + struct.pack("<d", self.rho)).hex()

    def bundle_lines(self, scope="FULL_HISTORY"):
        """(header, token lines) as objects."""
        state = self.state()
        d, dv = self.dimensions()
        header = {
            "auditKey": self.audit_key.hex(),
            "boxBound": f"2/(2*s-1), s={self.min_support}" if self.min_support else hex_double(self.box_value),
            "created": "2026-01-02T03:04:05Z",
            "entriesRoot": state["partition"]["entriesRoot"],
            "epoch": state["epoch"],
            "fingerprint": self.fingerprint(),
            "format": "expunge-audit-bundle-v1",
            "gamma": hex_double(self.gamma),
            "keyDimension": str(d),
            "memory": self.name,
            "memoryPseudonym": self.keyed(b"expunge memory pseudonym v1", self.name.encode()).hex(),
            "rho": hex_double(self.rho),
            "ridge": hex_double(self.ridge),
            "scope": scope,
            "stateDigest": state["stateDigest"],
            "tokenCount": state["tokenCount"],
            "tokenRoot": state["tokenRoot"],
            "valueDimension": str(dv),
        }
        tokens = []
        for i, c, a in self.entries:
            subjects, key, value, _ = self.tokens[i]
            tokens.append(
                {
                    "class": c,
                    "commitment": self.commitment(i).hex(),
                    "id": i,
                    "key": b64(struct.pack(f"<{d}d", *key)),
                    "subjects": list(subjects),
                    "value": b64(struct.pack(f"<{dv}d", *value)),
                    "weight": hex_double(a),
                }
            )
        return header, tokens

    def bundle(self):
        return bundle_bytes(*self.bundle_lines())

    # Certificates.

    def _common(self, kind, state):
        sequence = len(self.chain) + 1
        d, dv = self.dimensions()
        previous = sha256(self.chain[-1]).hex() if self.chain else "0" * 64
        return {
            "kind": kind,
            "issued": f"2026-03-01T00:00:{sequence:02d}Z",
            "issuer": {
                "name": "Expunge",
                "software": "expunged",
                "version": "0",
                "commit": "0",
                "configurationSha256": digest(1),
            },
            "memory": {
                "tenant": digest(2),
                "memory": self.keyed(b"expunge memory pseudonym v1", self.name.encode()).hex(),
                "sequence": str(sequence),
                "previousPayloadSha256": previous,
                "dimensions": {"key": str(d), "value": str(dv)},
            },
            "algorithm": {
                "name": "support-vector attention memory",
                "kernel": "exp(-gamma |x - y|^2)",
                "gamma": hex_double(self.gamma),
                "boxBound": f"2/(2*s-1), s={self.min_support}" if self.min_support else hex_double(self.box_value),
                "ridge": hex_double(self.ridge),
                "spec": "docs/math/canonical.md",
                "specVersion": "v1",
            },
            "after": state,
            "exactness": {
                "claim": "BITWISE",
                "scope": "FULL_HISTORY",
                "reference": "r",
                "arithmetic": "a",
                "boundary": "b",
            },
            "notClaimed": ["Everything else."],
        }

    def _take(self, predicate):
        payload = statement(predicate)
        self.chain.append(payload)
        return payload

    def certify(self):
        predicate = self._common("STATE", self.state())
        predicate["request"] = {
            "idPseudonym": digest(3),
            "received": "2026-02-28T00:00:00Z",
            "due": "",
            "legalBasis": "",
            "nonce": "00ff",
        }
        del predicate["request"]["due"]
        return self._take(predicate)

    def remove(self, *tokens, kind="DELETION"):
        """Removes tokens; the payload of the certificate."""
        before, leaves = self.state(), self.leaves()
        classes = {i: c for i, c, _ in self.entries}
        removed = sorted(
            (
                {"commitment": self.commitment(i).hex(), "handle": self.handle(i).hex(), "classBefore": classes[i]}
                for i in tokens
            ),
            key=lambda one: one["commitment"],
        )
        items = transition(leaves, {self.handle(i) for i in tokens})
        dimensions = self.dimensions()
        for i in tokens:
            del self.tokens[i]
        self.epoch += 1
        predicate = self._common(kind, self.state())
        predicate["memory"]["dimensions"] = {"key": str(dimensions[0]), "value": str(dimensions[1])}
        predicate.update(
            request={
                "idPseudonym": digest(3),
                "received": "2026-02-28T00:00:00Z",
                "due": "",
                "legalBasis": "GDPR Art. 17(1)(b)",
                "tokens": str(len(removed)),
                "memories": "1",
            },
            before=before,
            removed=removed,
            removedCount=str(len(removed)),
            transition=items,
            erasure={
                "method": "KEY_DESTRUCTION",
                "stage": "KEY_DESTROYED",
                "custody": "c",
                "residuals": [
                    {"what": what, "text": "t", "expires": ""}
                    for what in ("SEALED_BYTES", "BACKUPS", "FREED_BLOCKS", "PROCESS_MEMORY", "LEDGER")
                ],
            },
        )
        return self._take(predicate)

    def evict(self, *tokens):
        """Drops reserve tokens; the payload of the selection's certificate."""
        ids, solution = self.solve()
        least = min(solution.gradients[ids.index(token)] for token in tokens)
        predicate = json.loads(self.remove(*tokens, kind="SELECTION"))["predicate"]
        self.chain.pop()
        predicate["exactness"]["scope"] = "RETAINED_SET"
        predicate["horizon"] = {
            "marginLower": hex_double(down(least)),
            "reference": predicate["before"]["stateDigest"],
            "condition": "c",
        }
        return self._take(predicate)

    def purge_files(self, payload):
        """The second certificate of a removal."""
        predicate = copy.deepcopy(json.loads(payload)["predicate"])
        common = self._common(predicate["kind"], predicate["after"])
        predicate.update(
            issued=common["issued"], memory={**common["memory"], "dimensions": predicate["memory"]["dimensions"]}
        )
        predicate["completes"] = {
            "sequence": json.loads(payload)["predicate"]["memory"]["sequence"],
            "payloadSha256": sha256(payload).hex(),
        }
        erasure = predicate["erasure"]
        erasure.update(
            method="KEY_DESTRUCTION_AND_FILE_REWRITE",
            stage="PHYSICALLY_PURGED",
            purged="2026-03-01T00:00:01Z",
            residuals=erasure["residuals"][1:],
        )
        return self._take(predicate)


def down(x):
    """A double that is at most this Fraction."""
    value = float(x)
    return value if Fraction(value) <= x else float(Fraction(value) - Fraction(abs(value)) / 2**50)


def statement(predicate):
    return canonical(
        {
            "_type": "https://in-toto.io/Statement/v1",
            "predicateType": "urn:expunge:certificate:v1",
            "predicate": predicate,
            "subject": [
                {"name": predicate["memory"]["memory"], "digest": {"hmacSha256": predicate["after"]["stateDigest"]}}
            ],
        }
    )


def bundle_bytes(header, tokens):
    """With a last line that fits, whatever the lines are."""
    body = b"".join(canonical(line) + b"\n" for line in (header, *tokens))
    return body + canonical({"sha256": sha256(body).hex(), "tokens": str(len(tokens))}) + b"\n"
