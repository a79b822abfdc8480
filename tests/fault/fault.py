"""What the tests in this folder share: a server that can be killed, searches for needles, and the vault read offline."""

import base64
import ctypes
import hashlib
import os
import shutil
import signal
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

from harness import TIMEOUT_S, ProgramTest, Server, binary, main  # noqa: E402,F401  (tests import them from here)

SKIPPED = 77  # ctest shows a test that ends so as skipped


class FaultServer(Server):
    """One that can be killed. It keeps little disk space in reserve: its files are copied and searched over and over."""

    def __init__(self, directory, *options):
        small = () if "--reserve-bytes" in options else ("--reserve-bytes", "65536")
        super().__init__(directory, *options, *small)

    @property
    def pid(self):
        return self._process.pid

    def exit_code(self):
        """None while it runs."""
        return self._process.poll()

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(timeout=TIMEOUT_S)

    def end(self):
        """For the clean-up: nothing is left running, whatever a test did."""
        if self._process is not None and self._process.poll() is None:
            self.kill()


class FaultTest(ProgramTest):
    """A test with a server of its own, made by serve()."""

    def serve(self, *options):
        type(self).server = FaultServer(self.directory, *options)
        self.addCleanup(self.server.end)
        self.server.start()
        return self.server

    def create(self, memory, keys, values):
        self.answer("memory", "create", memory, "--key-dimension", str(keys), "--value-dimension", str(values),
                    "--gamma", "0.5", "--min-support", "3")

    def add(self, memory, tokens):
        """Adds tokens, each (id, subject, key, value)."""
        keys, values = len(tokens[0][2]), len(tokens[0][3])
        key_names, value_names = [f"k{i}" for i in range(keys)], [f"v{i}" for i in range(values)]
        lines = [",".join(["id", "who", *key_names, *value_names])]
        lines += [",".join([name, who, *map(repr, key), *map(repr, value)]) for name, who, key, value in tokens]
        path = self.write("tokens.csv", "\n".join(lines) + "\n")
        self.answer("import", memory, "--csv", path, "--key-columns", ",".join(key_names), "--value-columns",
                    ",".join(value_names), "--id-column", "id", "--subject-columns", "who")

    def wait_for_purged(self, count):
        """Waits until there are `count` certificates which say that the bytes are gone."""
        seconds = int(os.environ.get("EXPUNGE_PATIENCE_S", "60"))
        end = time.monotonic() + seconds
        while True:
            stages = [one["stage"] for one in self.answer("cert", "list")["certificates"]]
            if stages.count("PHYSICALLY_PURGED") >= count:
                return
            self.assertLess(time.monotonic(), end, f"no second certificate after {seconds} s: {stages}")
            time.sleep(0.1)


# ---- Needles ----


def base64_forms(raw):
    """What of `raw` is the same wherever it stands within a text in base64: one form for each alignment."""
    for shift in range(3):
        text = base64.b64encode(bytes(shift) + raw)
        end = (shift + len(raw)) * 8 // 6  # the last digit may depend on what follows
        yield f"base64+{shift}", text[-(-shift * 8 // 6):end]


def forms_of_bytes(name, raw):
    """Every form in which these bytes are searched for, by name."""
    forms = {f"{name} raw": raw, f"{name} hex": raw.hex().encode(), f"{name} HEX": raw.hex().upper().encode()}
    forms.update({f"{name} {form}": text for form, text in base64_forms(raw)})
    return forms


def forms_of_text(name, text):
    forms = forms_of_bytes(name, text.encode())
    forms[f"{name} utf-16-le"] = text.encode("utf-16-le")
    forms[f"{name} utf-16-be"] = text.encode("utf-16-be")
    return forms


def forms_of_numbers(name, numbers):
    """Doubles and floats in both byte orders, each as bytes are; and the decimal text of each double."""
    forms = {}
    for letter, size in (("d", "f64"), ("f", "f32")):
        for order, suffix in (("<", "le"), (">", "be")):
            forms.update(forms_of_bytes(f"{name} {size}-{suffix}", struct.pack(f"{order}{len(numbers)}{letter}", *numbers)))
    forms.update({f"{name}[{i}] decimal": repr(number).encode() for i, number in enumerate(numbers)})
    return forms


def files_under(*paths):
    for path in paths:
        if os.path.isfile(path):
            yield path
        for folder, _, names in os.walk(path):
            yield from (os.path.join(folder, name) for name in names if not name.endswith(".sock"))


def copy_directory(directory, copy):
    """Without the sockets, which cannot be read."""
    shutil.copytree(directory, copy, ignore=shutil.ignore_patterns("*.sock"))


def search_files(forms, *paths):
    """[(path, form)] for every form found in a file, or in a file's name; how many files and bytes were read."""
    hits, files, size = [], 0, 0
    for path in files_under(*paths):
        try:
            with open(path, "rb") as file:
                content = file.read()
        except FileNotFoundError:  # the running server may remove files between the listing and here
            continue
        files, size = files + 1, size + len(content)
        content += b"\0" + os.fsencode(path)
        hits += [(path, form) for form, needle in forms.items() if needle in content]
    return hits, files, size


def search_memory(pid, needles):
    """{name: hits} in the memory of another process, and how many bytes were read. Needs root."""
    hits, size = dict.fromkeys(needles, 0), 0
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            fields = line.split()
            start, end = (int(part, 16) for part in fields[0].split("-"))
            if fields[1][0] != "r" or fields[-1] in ("[vvar]", "[vsyscall]", "[vvar_vclock]"):
                continue
            content = bytearray()
            while start + len(content) < end:
                memory.seek(start + len(content))
                try:
                    part = memory.read(min(end - start - len(content), 64 << 20))
                except OSError:
                    break
                if not part:
                    break
                content += part
            size += len(content)
            for name, needle in needles.items():
                hits[name] += content.count(needle)
    return hits, size


# ---- The vault, read as docs/formats/vault.md says ----

PLACE = 128


def sodium():
    try:
        return ctypes.CDLL("libsodium.so.23")
    except OSError:
        return None


def unseal(key, associated, sealed):
    """The plaintext, or None if these bytes were not sealed so."""
    library = sodium()
    nonce, text = sealed[:24], sealed[24:]
    if len(text) < 16:
        return None
    plain, length = ctypes.create_string_buffer(max(1, len(text) - 16)), ctypes.c_ulonglong()
    code = library.crypto_aead_xchacha20poly1305_ietf_decrypt(
        plain, ctypes.byref(length), None, bytes(text), ctypes.c_ulonglong(len(text)), bytes(associated),
        ctypes.c_ulonglong(len(associated)), bytes(nonce), bytes(key))
    return plain.raw[:length.value] if code == 0 else None


class Vault:
    """All keys of a vault file: {slot: key}, with {slot: parent}. Raises if a place breaks the format."""

    def __init__(self, keys_file, master_key_file):
        with open(master_key_file, encoding="ascii") as file:
            self.master = bytes.fromhex(file.read().strip())
        with open(keys_file, "rb") as file:
            content = file.read()
        self.places = [content[at:at + PLACE] for at in range(0, len(content) // PLACE * PLACE, PLACE)]
        header = self.places[0]
        if header[:8] != b"EXPVAULT" or header[8:16] != struct.pack("<Q", 1) or header[96:] != hashlib.sha256(header[:96]).digest():
            raise AssertionError("not a vault of format 1")
        if unseal(self.master, b"expunge vault header v1" + header[:40], header[40:80]) is None:
            raise AssertionError("the master key is not that of the vault")
        self.id, self.keys, self.parents = header[16:32], {}, {}
        for top in (True, False):  # keys of tenants first: they open the others
            for slot, place in enumerate(self.places[1:], 1):
                if place == bytes(PLACE):
                    continue
                parent = struct.unpack("<Q", place[:8])[0]
                if (parent == 0) == top:
                    self._open(slot, parent, place)

    def _open(self, slot, parent, place):
        associated = b"expunge vault slot v1" + self.id + struct.pack("<QQ", slot, parent)
        key = unseal(self.keys[parent] if parent else self.master, associated, place[8:80])
        if key is None or len(key) != 32:
            raise AssertionError(f"slot {slot} doesn't open")
        self.keys[slot], self.parents[slot] = key, parent

    def changed_since(self, older):
        """The slots that held a key in `older` and hold other bytes now."""
        return [slot for slot in older.keys if slot >= len(self.places) or self.places[slot] != older.places[slot]]


def skip_whole_file(reason):
    """Ends a test file as skipped, for ctest and for a reader."""
    print(f"SKIPPED: {reason}", file=sys.stderr)
    sys.exit(SKIPPED)
