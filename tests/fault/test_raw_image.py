"""The file system below the files: a raw ext4 image on which all of it lived holds neither plaintext nor a destroyed key.

What a file system frees it does not overwrite, so this is the harder search: over every block of the disk, the journal and
free blocks among them. Ciphertext may be left in free blocks; the test says how much. It needs root, for the mount.
"""

import os
import shutil
import subprocess
import tempfile

from fault import (PLACE, FaultServer, FaultTest, Vault, forms_of_bytes, main, search_files, skip_whole_file, sodium)
from sealed import logged_values
from test_canary import KEY, VALUE, canary_forms

IMAGE_MIB = 48
TOKEN, SUBJECT = "canary-id-7f3a9c51e8", "canary-subject-b20d64"


def command(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


class Image:
    """A file of one ext4 file system, mounted by loop."""

    def __init__(self, folder):
        self.file, self.mounted = os.path.join(folder, "image"), os.path.join(folder, "mounted")
        with open(self.file, "wb") as file:
            file.truncate(IMAGE_MIB << 20)
        os.makedirs(self.mounted, exist_ok=True)

    def make(self):
        """Returns why not; empty if it is mounted now."""
        made = command("mkfs.ext4", "-q", "-F", self.file)
        if made.returncode != 0:
            return f"mkfs.ext4: {made.stderr.strip()}"
        return self.mount()

    def mount(self):
        done = command("mount", "-o", "loop", self.file, self.mounted)
        return "" if done.returncode == 0 else f"mount: {done.stderr.strip()}"

    def unmount(self):
        done = command("umount", self.mounted)
        if done.returncode != 0:
            raise AssertionError(f"umount: {done.stderr.strip()}")

    def written(self):
        """What was ever written to the image, as the disk has it: [(offset, bytes)]. The rest is a hole in the file."""
        command("sync", "-f", self.mounted)
        parts, at = [], 0
        with open(self.file, "rb") as file:
            while True:
                try:
                    start = os.lseek(file.fileno(), at, os.SEEK_DATA)
                except OSError:  # no more
                    return parts
                at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
                parts.append((start, os.pread(file.fileno(), at - start, start)))

    def find(self, forms):
        """{form: [where it is]} in the whole image."""
        parts, found = self.written(), {}
        for form, needle in forms.items():
            places = [start + content.find(needle) for start, content in parts if needle in content]
            if places:
                found[form] = places
        return found


class RawImageTest(FaultTest):
    def setUp(self):
        folder = tempfile.mkdtemp(dir=self.directory)
        self.image = Image(folder)
        problem = self.image.make()
        if problem:
            raise AssertionError(problem)
        self.addCleanup(command, "umount", "-l", self.image.mounted)

    def serve_on_image(self):
        server = FaultServer(self.image.mounted, "--erase-bytes-within", "1s", "--log-level", "debug")
        type(self).server = server
        self.addCleanup(server.end)
        server.start()
        return server

    def vault(self, name):
        shutil.copyfile(os.path.join(self.server.data, "vault", "keys"), self.path(name))
        return Vault(self.path(name), os.path.join(self.server.data, "master.key"))

    def fill(self):
        self.create("birds", keys=len(KEY), values=len(VALUE))
        tokens = [(f"t{i}", f"s{i}", [i / 7, i * i % 5, -i / 3, 1.5], [float(i), 1.0]) for i in range(30)]
        self.add("birds", [*tokens, (TOKEN, SUBJECT, KEY, VALUE)])

    def test_no_block_holds_the_plaintext_or_a_destroyed_key(self):
        server = self.serve_on_image()
        self.fill()
        ciphertext = {value.slot: value.sealed[24:72] for value in logged_values(server.data)}
        self.assertEqual(server.stop(), 0)
        server.start()  # the log becomes tables
        before = self.vault("before")
        self.answer("delete", "birds", "--token", TOKEN)
        after = self.vault("after")
        destroyed = after.changed_since(before)
        self.assertEqual(len(destroyed), 2, "the token's key, and the state's")

        self.wait_for_purged(1)
        self.assertEqual(server.stop(), 0)
        self.image.unmount()
        slots = {f"slot {slot} sealed": before.places[slot][8:80] for slot in destroyed}
        keys = {}
        for slot in destroyed:
            keys.update(forms_of_bytes(f"slot {slot} key", before.keys[slot]))
        forms = {**canary_forms(), **slots, **keys}
        found = self.image.find(forms)
        print(f"{len(forms)} forms searched for in {IMAGE_MIB} MiB: {found}")
        self.assertEqual(found, {})

        # Controls: the same search finds what is left, a survivor's slot as it was and is, and the header's.
        kept = [slot for slot in before.keys if before.places[slot] == after.places[slot] and before.parents[slot]]
        survivors = {f"survivor {slot}": before.places[slot] for slot in kept[:1]}
        new = {f"slot {slot} now": after.places[slot] for slot in after.parents if not after.parents[slot]}
        found = self.image.find({**survivors, **new})
        self.assertEqual(set(found), {*survivors, *new})
        left = self.image.find({f"slot {slot}": ciphertext[slot] for slot in destroyed if slot in ciphertext})
        print(f"of {len(destroyed)} destroyed keys, ciphertext is left in blocks: {left}")

    def test_the_search_finds_the_same_bytes_before_the_deletion_and_in_a_deleted_file(self):
        """Controls: the slot that is to be destroyed, before that; and what deleting a plain file leaves."""
        server = self.serve_on_image()
        self.fill()
        before = self.vault("before")
        self.answer("delete", "birds", "--token", TOKEN)
        destroyed = self.vault("after").changed_since(before)
        forms = canary_forms()
        with open(os.path.join(self.image.mounted, "plain"), "wb") as file:
            file.write(b"".join(needle + b"\0" for needle in forms.values()))
            os.fsync(file.fileno())
        self.assertEqual(set(self.image.find(forms)), set(forms))
        os.remove(os.path.join(self.image.mounted, "plain"))
        # A copy of the vault beside it, deleted again: the places as they were before the deletion.
        shutil.copyfile(self.path("before"), os.path.join(self.image.mounted, "copied"))
        os.sync()
        os.remove(os.path.join(self.image.mounted, "copied"))
        self.assertEqual(server.stop(), 0)
        self.image.unmount()
        self.assertEqual(search_files(forms, self.image.mounted)[0], [])
        found = self.image.find(forms)
        print(f"{len(found)} of {len(forms)} forms are in free blocks of a deleted file")
        self.assertEqual(set(found), set(forms))
        slots = {slot: before.places[slot] for slot in destroyed}
        self.assertEqual(set(self.image.find(slots)), set(slots))
        self.assertTrue(all(len(place) == PLACE for place in slots.values()))


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip_whole_file("mounting an image needs root")
    if sodium() is None:
        skip_whole_file("libsodium.so.23 is not installed")
    with tempfile.TemporaryDirectory(prefix="expunge-test-") as scratch:
        attempt = Image(scratch)
        reason = attempt.make() if shutil.which("mkfs.ext4") else "mkfs.ext4 is not installed"
        if reason:
            skip_whole_file(f"no loop mounts here: {reason}")
        attempt.unmount()
    main()
