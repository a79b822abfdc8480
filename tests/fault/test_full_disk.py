"""The real programs on a disk that is filled to the brim: clear errors, nothing half done, and all goes on once there is room."""

import os
import subprocess
import tempfile

from crash import Place, require
from fault import FaultTest, main, search_files, skip_whole_file
from test_crash_matrix import HELD, SHAPE, Operation, adding, tokens_file

SIZE_MIB = 24
RESERVE = 8 << 20
NO_RESERVE = ("--reserve-bytes", "0")
WIDE = 4096  # dimensions
REFUSED = 1  # the exit code of expunge: the service answered, with an error


def command(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def mount(folder):
    """Returns why not; empty if a small file system in memory is mounted there."""
    done = command("mount", "-t", "tmpfs", "-o", f"size={SIZE_MIB}m", "tmpfs", folder)
    return "" if done.returncode == 0 else done.stderr.strip()


class FullDiskTest(FaultTest):
    options = NO_RESERVE

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=self.directory)
        require(mount(self.folder) == "", "cannot mount")
        self.addCleanup(command, "umount", "-l", self.folder)
        self.place = Place(os.path.join(self.folder, "place"), options=self.options)
        self.place.start()
        self.addCleanup(lambda: self.place.server.end())
        self.place.answer("memory", "create", "held", *SHAPE)
        self.place.answer(*adding("held", tokens_file(self.path("held.csv"), HELD)))
        few = tokens_file(self.path("few.csv"), ["new-1", "new-2"])
        self.add = Operation("add", adding("held", few))
        self.delete = Operation("delete", ["delete", "held", "--token", "held-1", "--out", "{out}/c.json"])

    @property
    def filler(self):
        return os.path.join(self.folder, "filler")

    def fill(self):
        """Until not one byte more fits."""
        with open(self.filler, "ab", buffering=0) as file:
            size = 1 << 20
            while size:
                try:
                    file.write(b"x" * size)
                except OSError:
                    size //= 2
        state = os.statvfs(self.folder)
        self.assertEqual(state.f_bavail, 0)

    def call(self, operation, out):
        """The exit code and the error of one call, and the certificates received. Its files lie elsewhere."""
        folder = os.path.join(self.directory, out)
        os.makedirs(folder)
        again = () if "--request-id" in operation.arguments else ("--request-id", "once")
        done = self.place.call(*(word.format(out=folder) for word in operation.arguments), *again)
        received = []
        for name in sorted(name for name in os.listdir(folder) if name.endswith(".json")):
            with open(os.path.join(folder, name), "rb") as file:
                received.append(file.read())
        return done, received

    def check_refused(self, done):
        self.assertEqual(done.returncode, REFUSED, done.stdout + done.stderr)
        self.assertIn("STORAGE_FAILED", done.stderr)

    def restart_with_room(self):
        os.remove(self.filler)
        self.assertEqual(self.place.server.stop(), 0)
        self.place.start()

    def wide(self, number):
        """An Add of about a mebibyte, but few tokens."""
        path = self.path(f"wide-{number}.csv")
        if not os.path.exists(path):
            with open(path, "w", encoding="ascii") as file:
                file.write("id," + ",".join(f"c{i}" for i in range(2 * WIDE)) + "\n")
                for row in range(16):
                    numbers = ",".join(str((row * 31 + i) % 97 / 128) for i in range(2 * WIDE))
                    file.write(f"wide-{number}-{row},{numbers}\n")
        return Operation("wide", ["import", "wide", "--csv", path, "--key-columns", f"2-{WIDE + 1}", "--value-columns",
                                  f"{WIDE + 2}-{2 * WIDE + 1}", "--id-column", "id", "--request-id", f"wide-{number}"])

    def test_an_add_that_does_not_fit_is_refused_and_done_once_there_is_room(self):
        self.place.answer("memory", "create", "wide", "--key-dimension", str(WIDE), "--value-dimension", str(WIDE),
                          "--gamma", "0.01", "--min-support", "3")
        before = self.place.see()
        self.fill()
        # There are no keys for so many tokens, and no room for new ones: refused before anything is written.
        many = adding("held", tokens_file(self.path("many.csv"), [f"n{i}" for i in range(300)]))
        self.check_refused(self.call(Operation("many", many), "many")[0])
        self.assertEqual(self.place.see(), before)
        # What RocksDB reserved for its log is used up by and by.
        for number in range(12):
            before = self.place.see()
            done, _ = self.call(self.wide(number), f"wide-{number}")
            if done.returncode != 0:
                break
        print(f"after {number} MiB the disk takes no more")
        self.check_refused(done)
        self.assertEqual(self.place.see(), before)
        self.check_refused(self.call(self.add, "add")[0])
        self.assertEqual(self.place.see(), before)
        self.restart_with_room()
        after = self.place.see()
        self.assertEqual(after, before)
        for operation, out in ((self.wide(number), "wide-again"), (self.add, "add-again")):
            self.assertEqual(self.call(operation, out)[0].returncode, 0)
        after = self.place.see()
        self.assertEqual(after["held"]["token_count"], len(HELD) + 2)
        self.assertEqual(after["wide"]["token_count"], before["wide"]["token_count"] + 16)
        self.assertEqual(self.place.server.stop(), 0)

    def test_a_deletion_is_whole_or_refused_and_done_once_there_is_room(self):
        before = self.place.see()
        self.fill()
        received = []
        for attempt in range(2):
            done, received = self.call(self.delete, f"delete-{attempt}")
            if done.returncode != 0:
                self.check_refused(done)
                self.assertEqual(received, [])
                self.assertEqual(self.place.see(), before)
                self.assertEqual(self.place.certificates(), [])
        print(f"on a full disk the deletion {'is done' if received else 'is refused'}")
        self.restart_with_room()
        done, again = self.call(self.delete, "again")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(again), 1)
        if received:
            self.assertEqual(again, received)
        self.assertEqual([one[2] for one in self.place.certificates()], again)
        self.assertEqual(self.place.see()["held"]["token_count"], len(HELD) - 1)
        self.assertEqual(self.place.server.stop(), 0)

    def test_an_erasure_of_bytes_waits_for_room(self):
        self.place.answer("delete", "held", "--token", "held-1")
        self.assertEqual(self.place.server.stop(), 0)
        self.fill()
        # As full as it can be and still start: a start writes a few small files.
        os.truncate(self.filler, os.path.getsize(self.filler) - (4 << 20))
        self.place.options = (*self.options, "--erase-bytes-within", "1s")
        self.place.start()
        status = self.place.answer("erasure", "status")
        for _ in range(100):
            if status["last_error"]:
                break
            status = self.place.answer("erasure", "status")
        self.assertIn("free", status["last_error"] or "")
        self.assertEqual(status["pending"], 1)
        self.assertEqual([stage for stage, _, _ in self.place.certificates()], ["KEY_DESTROYED"])
        # Not read-only for this: a deletion is still done, and the erasure once there is room.
        self.place.answer("delete", "held", "--token", "held-2")
        self.restart_with_room()
        type(self).server = self.place.server
        self.wait_for_purged(2)
        self.assertEqual(search_files({"name": b"held-1"}, self.place.path("data"))[0], [])
        self.assertEqual(self.place.server.stop(), 0)


class ReserveTest(FullDiskTest):
    """With disk space that is kept for them, deletions always find room. What the other tests say holds as well."""

    options = ("--reserve-bytes", str(RESERVE))

    def check_refused(self, done):
        self.assertEqual(done.returncode, REFUSED, done.stdout + done.stderr)
        self.assertIn("DISK_FULL", done.stderr)

    def test_an_add_that_does_not_fit_is_refused_and_done_once_there_is_room(self):
        before = self.place.see()
        self.fill()
        done, _ = self.call(self.add, "add-full")
        self.check_refused(done)
        self.assertEqual(self.place.see(), before)
        os.remove(self.filler)
        self.assertEqual(self.call(self.add, "add-with-room")[0].returncode, 0, "without a restart")
        self.assertEqual(self.place.server.stop(), 0)

    def test_a_deletion_is_whole_or_refused_and_done_once_there_is_room(self):
        self.fill()
        self.check_refused(self.call(self.add, "add-brim")[0])
        reserve = self.place.path("data/db/reserve")
        self.assertEqual(os.path.getsize(reserve), RESERVE)
        certificates = []
        for number, token in enumerate(HELD):
            deletion = Operation("delete", ["delete", "held", "--token", token, "--request-id", f"full-{number}", "--out",
                                            "{out}/c.json"])
            done, received = self.call(deletion, f"delete-{number}")
            self.assertEqual(done.returncode, 0, done.stderr)
            certificates += received
            self.fill()  # whoever filled the disk goes on
        self.assertFalse(os.path.exists(reserve), "it was given up")
        self.assertEqual(self.place.see()["held"]["token_count"], 0)
        self.check_refused(self.call(self.add, "add-after")[0])
        os.remove(self.filler)
        self.assertEqual(self.place.server.stop(), 0)
        self.place.start()
        self.assertEqual([one[2] for one in self.place.certificates()], certificates)
        self.assertEqual(os.path.getsize(reserve), RESERVE, "it is made again where there is room")
        self.assertEqual(self.call(self.add, "add-at-last")[0].returncode, 0)
        self.assertEqual(self.place.server.stop(), 0)


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip_whole_file("mounting a small file system needs root")
    with tempfile.TemporaryDirectory(prefix="expunge-test-") as scratch:
        reason = mount(scratch)
        if reason:
            skip_whole_file(f"no mounts here: {reason}")
        command("umount", scratch)
    main()
