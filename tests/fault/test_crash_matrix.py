"""SIGKILL at every named step of every change: the state is the old one or the new one, whole, and a retry answers the same.

Each operation first runs to its end, traced: that gives the points it passes (base/fault_point.h). Then, from a copy of the
same directory, it runs once for each of them and dies there. EXPUNGE_CRASH_MATRIX=full tries each death also with the
start-up after it dying at each of its own points, and from directories whose records were compacted into tables.
"""

import os
import re
import shutil
import tempfile

from crash import Place, require, without_chance
from fault import FaultTest, main, search_files, skip_whole_file, sodium
from harness import binary, run
from sealed import leading_text, logged_values

FULL = os.environ.get("EXPUNGE_CRASH_MATRIX", "") == "full"
SOURCES = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SOON = ("--erase-bytes-within", "1s")
SHAPE = ("--key-dimension", "2", "--value-dimension", "1", "--gamma", "0.5", "--min-support", "3")

# Points that no operation here passes, by the beginnings of their names, and who dies at them instead.
ELSEWHERE = {
    "restore.": "tests/storage/backup_crash_test.cc, tests/server/core/restore_crash_test.cc",
}

HELD = [f"held-{i}" for i in range(6)]
OTHER = [f"other-{i}" for i in range(4)]


def subject(token):
    return "shared" if token in ("held-1", "held-4", "other-2") else f"of-{token}"


class Operation:
    """One change. Closed by it: the records of `tokens`, and those of the state of each of `memories`."""

    def __init__(self, name, arguments=None, tokens=(), memories=(), chance=False, certificates=0):
        self.name, self.arguments = name, arguments
        self.tokens, self.memories, self.chance, self.certificates = set(tokens), set(memories), chance, certificates

    def run(self, place, out):
        """Returns the exit code, and the certificates that were received."""
        os.makedirs(place.path(out))
        done = place.call(*(argument.format(out=place.path(out)) for argument in self.arguments), "--request-id", "once")
        received = []
        for name in sorted(name for name in os.listdir(place.path(out)) if name.endswith(".json")):
            with open(place.path(os.path.join(out, name)), "rb") as file:
                received.append(file.read())
        return done.returncode, received


def tokens_file(path, tokens):
    with open(path, "w", encoding="ascii") as file:
        file.write("id,who,x,y,v\n")
        for token in tokens:
            number = sum(token.encode())
            file.write(f"{token},{subject(token)},{number % 17 / 3},{number % 23 / 7},{number % 5}\n")
    return path


def adding(memory, path):
    return ["import", memory, "--csv", path, "--key-columns", "x,y", "--value-columns", "v", "--id-column", "id",
            "--subject-columns", "who"]


class Control:
    """An operation that was not cut off: what it passes, and what there is before and after it."""

    def __init__(self, operation, place, start_points):
        self.operation, self.start_points = operation, start_points
        place.start_traced("trace")
        require(place.passed("trace") == start_points, "a start of the same directory passes other points")
        self.before, self.certificates_before = place.see(), place.certificates()
        code, received = operation.run(place, "received")
        require(code == 0, f"{operation.name} ends with {code}")
        self.points = place.passed("trace")[len(start_points):]
        self.after, listed = place.see(), place.certificates()
        # Killed after the answer: all of it is there, and a retry receives the bytes that were received.
        place.server.kill()
        place.start()
        require(place.see() == self.after, f"{operation.name}: what was acknowledged is not there")
        require(place.certificates() == listed, f"{operation.name}: certificates differ after a restart")
        require(operation.run(place, "again") == (0, received), f"{operation.name}: a retry receives other bytes")
        require(len(received) == operation.certificates, f"{len(received)} certificates were received")
        require([one[2] for one in listed[len(self.certificates_before):]] == received, "others are listed")
        place.server.kill()


class CrashMatrixTest(FaultTest):
    # ---- Directories to begin from ----

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # In memory, where there is such a place: SIGKILL takes nothing from a file that was written, synced or not.
        if os.access("/dev/shm", os.W_OK):
            cls.directory = tempfile.mkdtemp(prefix="expunge-test-", dir="/dev/shm")
            cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.count, cls.reached, cls.envelopes = 0, set(), set()
        cls.operations = [
            Operation("create", ["memory", "create", "new", *SHAPE], chance=True),
            Operation("add", adding("held", tokens_file(os.path.join(cls.directory, "few.csv"), ["new-1", "new-2"])),
                      chance=True),
            Operation("add more than there are keys for",
                      adding("held", tokens_file(os.path.join(cls.directory, "many.csv"), [f"n{i}" for i in range(270)])),
                      chance=True),
            Operation("delete", ["delete", "held", "--token", "held-1", "held-3", "--out", "{out}/c.json"],
                      ["held-1", "held-3"], ["held"], certificates=1),
            Operation("purge", ["purge", "--subject", "shared", "--out-dir", "{out}"],
                      ["held-1", "held-4", "other-2"], ["held", "other"], certificates=2),
            # The two of the six that are in reserve.
            Operation("evict", ["evict", "held", "--token", "held-1", "held-2", "--out", "{out}/c.json"],
                      ["held-1", "held-2"], ["held"], certificates=1),
            Operation("delete a memory", ["memory", "delete", "held", "--out", "{out}/c.json"], HELD, ["held"],
                      certificates=1),
            Operation("certify", ["certify", "held", "--nonce", "00ff", "--out", "{out}/c.json"], certificates=1),
        ]
        cls.delete = next(operation for operation in cls.operations if operation.name == "delete")
        cls.filled = cls.make_filled()
        cls.values = cls.values_of(cls.filled)
        cls.compacted = cls.place("compacted", cls.filled)
        cls.copied = cls.place("copied", cls.filled, ledger_copy=True)
        for place in (cls.compacted, cls.copied):
            place.start()  # what the log held is in tables then
            require(place.server.stop() == 0, "the server ended badly")

    @classmethod
    def place(cls, name, copy_of=None, ledger_copy=False):
        cls.count += 1
        directory = os.path.join(cls.directory, f"{cls.count:04}-{name.replace(' ', '-')}")
        return Place(directory, copy_of, ledger_copy=ledger_copy)

    @classmethod
    def make_filled(cls):
        place = cls.place("filled")
        place.start()
        for memory, tokens in (("held", HELD), ("other", OTHER)):
            place.answer("memory", "create", memory, *SHAPE)
            place.answer(*adding(memory, tokens_file(place.path("tokens.csv"), tokens)))
        require(place.server.stop() == 0, "the server ended badly")
        return place

    @classmethod
    def values_of(cls, filled):
        """[(token's id or memory's name, value)]: the newest value of every token, memory and state."""
        newest = {(value.family, value.key): value for value in logged_values(filled.path("data"))}
        vault, owners = filled.vault(), {}
        for (family, key), value in newest.items():
            if family == "memories":
                record = value.open(vault.keys[value.slot])
                owners[key] = "held" if b"\x12\x04held" in record else "other"
        named = []
        for (family, key), value in newest.items():
            if family == "tokens":
                named.append((leading_text(value.open(vault.keys[value.slot]), HELD + OTHER), value))
            elif family in ("memories", "states"):
                named.append((owners[key], value))
        require(len(named) == len(HELD) + len(OTHER) + 4, f"{len(named)} records")
        return named

    def start_points(self, template):
        """What a start of a copy passes before it serves."""
        place = self.place("start", template)
        place.start_traced("trace")
        points = place.passed("trace")
        place.remove()
        self.reached.update(points)
        return points

    # ---- What must hold ----

    def check_keys(self, place, operation, erased):
        """Of the records there were, those that are gone open under no key that is left where it was, and all others do."""
        vault = place.vault()
        for owner, value in self.values:
            is_open = value.open(vault.keys.get(value.slot)) is not None
            gone = erased and owner in operation.tokens | operation.memories
            self.assertEqual(is_open, not gone, f"{value.family} of {owner}")

    def check_state(self, place, control, durable):
        seen, expected = place.see(), control.after if durable else control.before
        if durable and control.operation.chance:
            seen, expected = without_chance(seen), without_chance(expected)
        self.assertEqual(seen, expected)

    def check_whole(self, place, control, durable):
        """After a restart: the state, the certificates, the keys, and what a retry answers."""
        operation, known = control.operation, len(control.certificates_before)
        self.check_state(place, control, durable)
        listed = place.certificates()
        self.assertEqual(listed[:known], control.certificates_before)
        self.assertEqual(len(listed) - known, operation.certificates if durable else 0)
        self.check_keys(place, operation, durable)
        code, received = operation.run(place, "retried")
        self.assertEqual(code, 0)
        self.assertEqual(operation.run(place, "retried-again"), (0, received))
        if durable:
            self.assertEqual([one[2] for one in listed[known:]], received)
        if place.ledger_copy and operation.certificates:
            self.assertGreater(os.path.getsize(place.path("ledger")), os.path.getsize(self.copied.path("ledger")))
        self.check_state(place, control, True)
        self.check_keys(place, operation, True)
        self.assertEqual([one[2] for one in place.certificates()[known:]], received)
        self.envelopes.update(received)

    def die(self, control, template, at):
        """Runs the operation until it dies at the point with this number; returns the place, and whether it is durable."""
        start, points = control.start_points, control.points
        passes = (start + points[:at + 1]).count(points[at])
        place = self.place(control.operation.name, template)
        place.start_traced("trace", f"{points[at]}:{passes}")
        code, received = control.operation.run(place, "cut-off")
        place.await_death()
        self.assertEqual((code, received), (3, []), "an answer came out of a call that was cut off")
        self.assertEqual(place.passed("trace"), start + points[:at + 1])
        durable = "commit.durable" in points[:at + 1]
        # Until the vault is written the keys are there, and the check of keys sees them.
        self.check_keys(place, control.operation, durable and "vault.overwritten" in points[:at + 1])
        return place, durable

    def die_in_starts(self, place):
        """A start dies at each of its points, one after the other."""
        for name in ("start.checked", "vault.overwritten"):
            place.start_traced(f"trace-{name}", name)
            place.await_death()
            self.assertEqual(place.passed(f"trace-{name}")[-1], name)

    # ---- The matrix ----

    def try_operation(self, operation, template):
        control = Control(operation, self.place(f"control {operation.name}", template), self.start_points(template))
        self.assertIn("commit.durable", control.points)
        self.reached.update(control.points)
        for at, point in enumerate(control.points):
            for dying_starts in (False, True) if FULL else (at % 2 == 1,):
                with self.subTest(operation=operation.name, point=point, number=at, dying_starts=dying_starts):
                    place, durable = self.die(control, template, at)
                    if dying_starts:
                        self.die_in_starts(place)
                    place.start()
                    self.check_whole(place, control, durable)
                    place.remove()
        return len(control.points)

    def test_every_step_of_every_change(self):
        tries = [(operation, self.filled) for operation in self.operations] + [(self.delete, self.copied)]
        if FULL:
            tries += [(operation, template) for template in (self.compacted, self.copied)
                      for operation in self.operations if (operation, template) not in tries]
        for operation, template in tries:
            points = self.try_operation(operation, template)
            print(f"{operation.name}{', with a copy of the ledger' if template.ledger_copy else ''}: "
                  f"died at each of {points} points", flush=True)
        self.check_first_start()
        self.check_start_after_a_deletion()
        self.check_byte_erasure()
        self.check_backup()
        self.check_rotation()
        self.check_sources()
        self.check_envelopes()

    def check_first_start(self):
        """The first start of all: whatever it dies at, the next one serves an empty directory."""
        points = self.start_points(None)
        for at, point in enumerate(points):
            with self.subTest(start="first", point=point, number=at):
                place = self.place("first start")
                place.start_traced("trace", f"{point}:{points[:at + 1].count(point)}")
                place.await_death()
                self.assertEqual(place.passed("trace"), points[:at + 1])
                place.start()
                self.assertEqual((place.see(), place.certificates()), ({}, []))
                place.answer("memory", "create", "held", *SHAPE)
                place.answer(*adding("held", tokens_file(place.path("tokens.csv"), HELD)))
                self.assertEqual(place.see()["held"]["token_count"], len(HELD))
                place.remove()
        print(f"first start: died at each of {len(points)} points")

    def cut_off_deletion(self):
        """A directory whose deletion is durable, with the keys still there."""
        control = Control(self.delete, self.place("control delete", self.filled), self.start_points(self.filled))
        place, durable = self.die(control, self.filled, control.points.index("commit.durable"))
        self.assertTrue(durable)
        return control, place

    def check_start_after_a_deletion(self):
        """A start finishes what a crash left of a deletion; it dies there, too."""
        control, cut_off = self.cut_off_deletion()
        points = self.start_points(cut_off)
        self.assertIn("vault.overwritten", points)
        for at, point in enumerate(points):
            with self.subTest(start="after a deletion", point=point, number=at):
                place = self.place("start after a deletion", cut_off)
                place.start_traced("trace", f"{point}:{points[:at + 1].count(point)}")
                place.await_death()
                self.check_keys(place, self.delete, "vault.overwritten" in points[:at + 1])
                place.start()
                self.check_whole(place, control, True)
                place.remove()
        print(f"start after a deletion: died at each of {len(points)} points")

    def ciphertext(self, operation):
        """What was sealed of the records that the operation erases, 48 bytes from the middle of each."""
        return {f"{value.family} of {owner}": value.sealed[24:72] for owner, value in self.values
                if owner in operation.tokens | operation.memories}

    def check_byte_erasure(self):
        """The second step: the ciphertext leaves the files, and exactly one certificate says so."""
        deleted = self.place("deleted", self.filled)
        deleted.start()
        self.assertEqual(self.delete.run(deleted, "first")[0], 0)
        self.assertEqual(deleted.server.stop(), 0)
        start, forms = self.start_points(deleted), self.ciphertext(self.delete)
        points = self.erase_traced(self.place("control erasure", deleted), start)
        self.assertIn("erase.new_manifest", points)
        self.reached.update(points)
        for at, point in enumerate(points):
            with self.subTest(operation="byte erasure", point=point, number=at):
                place = self.place("byte erasure", deleted)
                place.start_traced("trace", f"{point}:{(start + points[:at + 1]).count(point)}", SOON)
                place.await_death()
                self.assertEqual(place.passed("trace"), start + points[:at + 1])
                if point == "erase.flushed":  # control: until then it is there, and is found
                    hits, _, _ = search_files(forms, place.path("data"))
                    self.assertEqual({form for _, form in hits}, set(forms))
                place.start(SOON)
                self.check_erased(place, forms)
                place.remove()
        print(f"byte erasure: died at each of {len(points)} points")

    def erase_traced(self, place, start):
        place.start_traced("trace", options=SOON)
        self.await_purged(place)
        points = place.passed("trace")
        self.assertEqual(points[:len(start)], start)
        self.check_erased(place, self.ciphertext(self.delete))
        return points[len(start):]

    def await_purged(self, place):
        self.server = place.server  # whose answers wait_for_purged asks for
        self.wait_for_purged(1)

    def check_erased(self, place, forms):
        self.await_purged(place)
        self.assertEqual(search_files(forms, place.path("data"))[0], [])
        certificates = place.certificates()
        self.assertEqual([stage for stage, _, _ in certificates], ["KEY_DESTROYED", "PHYSICALLY_PURGED"])
        self.assertTrue(certificates[1][1].endswith("000000000001"), certificates[1][1])
        self.envelopes.update(envelope for _, _, envelope in certificates)
        self.assertEqual(place.server.stop(), 0)

    # ---- Backups ----

    @staticmethod
    def back_up(place, name):
        """The exit code; the halves are to be NAME.database and NAME.vault."""
        return place.call("--admin", f"unix:{place.path('data/admin.sock')}", "backup", "create", "--database",
                          place.path(f"{name}.database"), "--vault", place.path(f"{name}.vault")).returncode

    def check_backup(self):
        """A backup that is cut off changes nothing, is not one, and hinders no other, nor an erasure."""
        start = self.start_points(self.filled)
        control = self.place("control backup", self.filled)
        control.start_traced("trace")
        before = control.see()
        self.assertEqual(self.back_up(control, "whole"), 0)
        points = control.passed("trace")[len(start):]
        self.assertIn("backup.done", points)
        self.reached.update(points)
        control.server.kill()
        last = {point: at for at, point in enumerate(points)}
        for point, at in sorted(last.items(), key=lambda one: one[1]):
            with self.subTest(operation="backup", point=point):
                place = self.place("backup", self.filled)
                place.start_traced("trace", f"{point}:{(start + points[:at + 1]).count(point)}")
                self.assertEqual(self.back_up(place, "cut-off"), 3)
                place.await_death()
                is_whole = all(os.path.exists(place.path(f"cut-off.{half}/backup.json")) for half in ("database", "vault"))
                self.assertEqual(is_whole, point == "backup.done")
                place.start(SOON)
                self.assertEqual(place.see(), before)
                self.assertEqual(os.listdir(place.path("data/db")).count("records"), 1)
                self.assertEqual([name for name in os.listdir(place.path("data/db")) if name.startswith("backup")], [])
                self.assertEqual(self.back_up(place, "next"), 0)
                self.assertEqual(self.delete.run(place, "deleted")[0], 0)
                self.check_erased(place, self.ciphertext(self.delete))
                place.remove()
        print(f"backup: died at {len(last)} points")

    # ---- Keys ----

    @staticmethod
    def rotate(place, use):
        return place.call("--admin", f"unix:{place.path('data/admin.sock')}", "keys", "rotate", "--use", use).returncode

    @staticmethod
    def active(place, use):
        [key] = [one for one in place.answer("keys", "list")["keys"] if one["use"] == use and one["not_after"] is None]
        return key["key_id"]

    def check_rotated(self, place, use, before, durable):
        """One of the two keys is active, its file is the only one, and every certificate verifies from the first key."""
        key = self.active(place, use)
        self.assertEqual(key == before, not durable)
        self.assertEqual([name for name in os.listdir(place.path("data")) if name.endswith(".next")], [])
        place.answer("certify", "held", "--out", place.path("new.json"))
        os.makedirs(place.path("audit"), exist_ok=True)
        place.answer("keys", "export", place.path("audit"))
        listed = [place.path(f"one-{number}.json") for number, _ in enumerate(place.certificates())]
        for path, (_, _, envelope) in zip(listed, place.certificates()):
            with open(path, "wb") as file:
                file.write(envelope)
        certificates = [name for name in os.listdir(place.path("audit")) if name.startswith("certificate-")]
        keys = [argument for name in certificates for argument in ("--key", place.path(f"audit/{name}"))]
        done = run(binary("expunge"), "cert", "verify", place.path("new.json"), *listed, *keys)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def check_rotation(self):
        """Dead at any step of a rotation: after the next start the old key is in use, or the new one, and can be rotated."""
        for use in ("certificate", "checkpoint"):
            start = self.start_points(self.copied)
            control = self.place("control rotation", self.copied)
            control.start_traced("trace")
            before = self.active(control, use)
            self.assertEqual(self.rotate(control, use), 0)
            points = control.passed("trace")[len(start):]
            self.reached.update(points)
            self.check_rotated(control, use, before, True)
            control.server.kill()
            for at, point in enumerate(points):
                with self.subTest(operation=f"rotation of the {use} key", point=point, number=at):
                    place = self.place("rotation", self.copied)
                    place.start_traced("trace", f"{point}:{(start + points[:at + 1]).count(point)}")
                    self.assertEqual(self.rotate(place, use), 3)
                    place.await_death()
                    self.assertEqual(place.passed("trace"), start + points[:at + 1])
                    durable = "commit.durable" in points[:at + 1]
                    finishing = self.start_points_of(place)
                    for at_start, passed in enumerate(finishing):
                        if not passed.startswith("keys."):
                            continue
                        again = self.place("start after a rotation", place)
                        again.start_traced("trace-start", f"{passed}:{finishing[:at_start + 1].count(passed)}")
                        again.await_death()
                        again.start()
                        self.check_rotated(again, use, before, durable)
                        again.remove()
                    place.start()
                    self.check_rotated(place, use, before, durable)
                    self.assertEqual(self.rotate(place, use), 0)
                    self.check_rotated(place, use, before, True)
                    place.remove()
            print(f"rotation of the {use} key: died at each of {len(points)} points")

    def start_points_of(self, cut_off):
        points = self.start_points(cut_off)
        self.assertIn("start.checked", points)
        return points

    # ---- The whole ----

    def check_sources(self):
        """No point is in the sources that nothing here, or elsewhere, dies at."""
        named = set()
        for folder in ("base", "certificate", "client", "server", "storage"):
            for directory, _, files in os.walk(os.path.join(SOURCES, folder)):
                for file in files:
                    if file.endswith((".cc", ".h")):
                        with open(os.path.join(directory, file), encoding="utf-8") as source:
                            named.update(re.findall(r'CrashPoint\(\s*"([^"]+)"', source.read()))
        self.assertGreater(len(named), 10)
        unreached = {name for name in named - self.reached if not name.startswith(tuple(ELSEWHERE))}
        self.assertEqual(unreached, set(), "points that nothing passes")
        self.assertEqual({name for name in self.reached if name.startswith(tuple(ELSEWHERE))}, set(), "tried here as well")

    def check_envelopes(self):
        """Every certificate that was received verifies."""
        files = [self.write(f"envelope-{number}.json", envelope) for number, envelope in enumerate(sorted(self.envelopes))]
        self.filled.start()
        self.filled.answer("cert", "keys", "--out", self.path("issuer.pem"))
        self.filled.server.kill()
        print(f"{len(files)} different certificates")
        for at in range(0, len(files), 200):
            done = run(binary("expunge"), "cert", "verify", *files[at:at + 200], "--key", self.path("issuer.pem"))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    if "with fault points" not in run(binary("expunged"), "--version").stdout:
        skip_whole_file("this build has no fault points (EXPUNGE_FAULT_POINTS)")
    if sodium() is None:
        skip_whole_file("libsodium.so.23 is not installed")
    main()
