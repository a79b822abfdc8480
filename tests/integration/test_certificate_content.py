"""Certificates of every kind and stage from a running server: they have the form of the JSON Schema, and neither they nor
the log say anything of a person or of the data."""

import base64
import hashlib
import json
import os
import random
import struct
import time

from jsonschema import Draft202012Validator

from harness import HERE, Server, ServerTest, main

SCHEMA = os.path.join(HERE, "..", "..", "docs", "formats", "certificate.schema.json")
SEED = 20261130
TENANT = "tenant-larkspur"
MEMORIES = ("memory-heliotrope", "memory-foxglove")
REQUEST = "request-snapdragon"


def token_id(memory, number):
    return f"token-{memory[7:]}-{number:03}"


def subject_of(number):
    return f"subject-marigold-{number % 9}@example.org"


def c_hex(value):
    """The form of printf("%a")."""
    mantissa, exponent = value.hex().split("p")
    return mantissa.rstrip("0").rstrip(".") + "p" + exponent


def alignments(data):
    """What every base64 text that has `data` in it has in it, one for each place at which it can begin."""
    for before in range(3):
        text = base64.b64encode(b"\0" * before + data).decode()
        start = (8 * before + 5) // 6
        end = (8 * (before + len(data))) // 6
        yield text[start:end]


def forms_of_bytes(data):
    """Raw, in hexadecimal and in base64, the URL-safe one, too."""
    yield data
    yield data.hex().encode()
    yield data.hex().upper().encode()
    for text in alignments(data):
        yield text.encode()
        yield text.replace("+", "-").replace("/", "_").encode()


def forms_of_vector(vector):
    for code in "<d", ">d", "<f", ">f":
        yield from forms_of_bytes(b"".join(struct.pack(code, element) for element in vector))
        for element in vector:
            yield from forms_of_bytes(struct.pack(code, element))


def forms_of_number(value):
    """Of one that has more digits than happen to be somewhere."""
    for code in "<d", ">d":
        yield from forms_of_bytes(struct.pack(code, value))
    for text in (repr(value), f"{value:.17g}", f"{value:.9f}", f"{value:.6e}", c_hex(value), value.hex()):
        yield text.lstrip("-").encode()


def digests_of(data):
    for algorithm in (hashlib.sha256, hashlib.sha512, hashlib.sha1, hashlib.md5):
        yield from forms_of_bytes(algorithm(data).digest())


class Needles:
    """What must not be found, by what it is."""

    def __init__(self):
        self.by_kind = {}

    def add(self, kind, forms):
        self.by_kind.setdefault(kind, set()).update(form for form in forms if len(form) >= 6)

    def found_in(self, haystack):
        return sorted(kind for kind, forms in self.by_kind.items() if any(form in haystack for form in forms))


class CertificateContentTest(ServerTest):
    @classmethod
    def setUpClass(cls):
        super(ServerTest, cls).setUpClass()
        cls.server = Server(cls.directory, "--erase-bytes-within", "300ms", "--backups-kept-for", "720h")
        cls.server.start()
        cls.addClassCleanup(cls.stop_server)
        print(f"seed {SEED}", flush=True)
        self = cls("test_every_certificate_has_the_form_of_the_schema")
        cls.needles, cls.weights = Needles(), {}
        cls.fill(self, random.Random(SEED))
        cls.remove(self)
        cls.collect(self)

    def call(self, *arguments):
        return self.answer("--tenant", TENANT, *arguments)

    def fill(self, rng):
        for memory in MEMORIES:
            self.call("memory", "create", memory, "--key-dimension", "3", "--value-dimension", "2", "--gamma", "0.5",
                      "--min-support", "3")
            lines = ["id,who,x,y,z,v,w"]
            for number in range(30):
                vector = [rng.gauss(0, 1) for _ in range(5)]
                lines.append(",".join([token_id(memory, number), subject_of(number), *map(repr, vector)]))
                self.add_token(memory, number, vector)
            self.call("import", memory, "--csv", self.write(f"{memory}.csv", "\n".join(lines) + "\n"), "--key-columns",
                      "x,y,z", "--value-columns", "v,w", "--id-column", "id", "--subject-columns", "who", "--receipts",
                      self.path(f"{memory}.receipts"))
        for name in (TENANT, *MEMORIES, REQUEST):
            self.add_name(name)

    def add_name(self, name):
        self.needles.add("name", forms_of_bytes(name.encode()))
        self.needles.add("hash", digests_of(name.encode()))

    def add_token(self, memory, number, vector):
        name, subject = token_id(memory, number), subject_of(number)
        self.add_name(name)
        self.add_name(subject)
        self.add_name(f"tenants/{TENANT}/memories/{memory}/tokens/{name}")
        self.needles.add("embedding", [*forms_of_vector(vector[:3]), *forms_of_vector(vector[3:])])
        for element in vector:
            self.needles.add("embedding", forms_of_number(element))
        key, value = (b"".join(struct.pack("<d", x) for x in part) for part in (vector[:3], vector[3:]))
        for content in (key, value, key + value, name.encode() + key + value,
                        name.encode() + subject.encode() + key + value):
            self.needles.add("hash", digests_of(content))

    def note_weights(self):
        """The weights of all tokens that are held now."""
        for memory in MEMORIES:
            tokens = self.call("tokens", memory)["tokens"]
            for token in tokens:
                if 0 < token["weight"] < 0.19:
                    self.weights[token["name"], token["weight"]] = None
                    self.needles.add("weight", forms_of_number(token["weight"]))

    def remove(self):
        first, second = MEMORIES
        self.note_weights()
        basis = ["--legal-basis", "GDPR Art. 17(1)(b)", "--due", "2031-05-06"]
        self.call("delete", first, "--token", token_id(first, 3), token_id(first, 4), "--request-id", REQUEST, *basis)
        self.note_weights()
        self.call("purge", "--subject", subject_of(5), *basis)
        self.note_weights()
        self.call("evict", first, "--count", "2", *basis)
        self.note_weights()
        self.call("certify", first, "--nonce", "c0ffee")
        self.call("memory", "delete", second, *basis)
        end = time.monotonic() + 60
        while self.call("erasure", "status")["pending"] > 0:
            self.assertLess(time.monotonic(), end, "the files are not purged")
            time.sleep(0.1)

    def collect(self):
        type(self).envelopes, type(self).payloads = [], []
        for listed in self.call("cert", "list")["certificates"]:
            self.call("cert", "get", listed["name"], "--out", self.path("certificate.json"))
            self.envelopes.append(self.read("certificate.json"))
            self.payloads.append(base64.b64decode(json.loads(self.envelopes[-1])["payload"]))
        # Besides, all that the log has in files.
        type(self).log = {}
        for folder, _, files in os.walk(os.path.join(self.server.data, "log")):
            for name in files:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    self.log[os.path.relpath(path, self.server.data)] = file.read()

    def test_every_certificate_has_the_form_of_the_schema(self):
        with open(SCHEMA, encoding="ascii") as file:
            validator = Draft202012Validator(json.load(file))
        seen = set()
        for payload in self.payloads:
            statement = json.loads(payload)
            validator.validate(statement)
            predicate = statement["predicate"]
            seen.add((predicate["kind"], predicate.get("erasure", {}).get("stage", "")))
        removals = ("DELETION", "PURGE", "SELECTION", "MEMORY_DELETION")
        stages = ("KEY_DESTROYED", "PHYSICALLY_PURGED")
        self.assertEqual(seen, {(kind, stage) for kind in removals for stage in stages} | {("STATE", "")})

    def test_requests_and_promises_are_said(self):
        for payload in self.payloads:
            predicate = json.loads(payload)["predicate"]
            if predicate["kind"] == "STATE":
                continue
            self.assertEqual(predicate["request"]["due"], "2031-05-06T00:00:00Z")
            purge = predicate["kind"] == "PURGE"
            self.assertEqual(predicate["request"]["memories"], "2" if purge else "1")
            self.assertGreaterEqual(int(predicate["request"]["tokens"]), int(predicate["removedCount"]))
            expires = {residual["what"]: residual["expires"] for residual in predicate["erasure"]["residuals"]}
            self.assertEqual("SEALED_BYTES" in expires, "completes" not in predicate)
            self.assertGreater(expires["BACKUPS"], predicate["issued"])

    def test_certificates_and_log_say_nothing_of_names_vectors_weights_or_plain_hashes(self):
        self.assertGreater(len(self.payloads), 10)
        self.assertTrue(self.log)
        self.assertGreater(len(self.weights), 10)
        for haystack in (*self.payloads, *self.envelopes, *self.log.values()):
            self.assertEqual(self.needles.found_in(haystack), [])

    def test_the_search_finds_what_is_there(self):
        # In what the client has of its own data.
        self.assertEqual(self.needles.found_in(self.read(f"{MEMORIES[0]}.csv")), ["embedding", "name"])
        self.assertEqual(self.needles.found_in(json.dumps(self.call("tokens", MEMORIES[0])).encode()), ["name", "weight"])
        # In a payload that holds any one form, among its other bytes and in base64 at any place.
        payload = self.payloads[0]
        for kind, forms in self.needles.by_kind.items():
            self.assertGreater(len(forms), 100 if kind != "weight" else 50)
            for form in sorted(forms)[::37]:
                self.assertIn(kind, self.needles.found_in(payload[:500] + form + payload[500:]))
        key = struct.pack("<ddd", *[random.Random(SEED).gauss(0, 1) for _ in range(3)])
        for before in range(5):
            hidden = base64.b64encode(b"x" * before + key + b"y")
            self.assertIn("embedding", self.needles.found_in(payload + hidden))


if __name__ == "__main__":
    main()
