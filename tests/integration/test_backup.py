"""A backup is made while the memory changes, and is what its manifests say; the administration's socket and its commands."""

import base64
import hashlib
import json
import os
import re
import signal
import stat
import threading
import time

from harness import Server, ServerTest, binary, main


def files_of(folder):
    """{path within the folder: bytes} of every file in it."""
    files = {}
    for directory, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(directory, name), "rb") as file:
                files[os.path.relpath(os.path.join(directory, name), folder)] = file.read()
    return files


class Changes(threading.Thread):
    """Adds tokens and deletes some of them, one call after the other, until it is told to stop."""

    def __init__(self, test):
        super().__init__()
        self.test, self.rounds, self.errors, self.enough = test, 0, [], threading.Event()

    def run(self):
        try:
            while not self.enough.is_set():
                names = [f"r{self.rounds}x{i}" for i in range(3)]
                lines = ["id,who,x,y,v"] + [f"{name},s,{self.rounds},{i},1" for i, name in enumerate(names)]
                path = self.test.write("changes.csv", "\n".join(lines) + "\n")
                self.test.answer("import", "busy", "--csv", path, "--key-columns", "x,y", "--value-columns", "v",
                                 "--id-column", "id", "--subject-columns", "who")
                self.test.answer("delete", "busy", "--token", names[0])
                self.rounds += 1
        except Exception as error:  # the test shows it
            self.errors.append(error)

    def wait_for(self, rounds):
        end = time.monotonic() + 60
        while self.rounds < rounds and not self.errors and time.monotonic() < end:
            time.sleep(0.01)
        self.test.assertEqual(self.errors, [])
        self.test.assertGreaterEqual(self.rounds, rounds)


class BackupTest(ServerTest):
    @property
    def admin(self):
        return ["--admin", f"unix:{self.server.data}/admin.sock"]

    def make_backup(self, name):
        return self.answer(*self.admin, "backup", "create", "--database", self.path(f"{name}.records"), "--vault",
                           self.path(f"{name}.keys"))

    def check_half(self, name, half, made):
        """Compares a half with its manifest; returns how many files and bytes that lists."""
        folder = self.path(name)
        self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
        for directory, folders, names in os.walk(folder):
            for inner in folders:
                self.assertEqual(stat.S_IMODE(os.lstat(os.path.join(directory, inner)).st_mode), 0o700, inner)
            for inner in names:
                mode = os.lstat(os.path.join(directory, inner)).st_mode
                self.assertTrue(stat.S_ISREG(mode), inner)
                self.assertEqual(stat.S_IMODE(mode), 0o600, inner)
        files = files_of(folder)
        manifest = json.loads(files.pop("backup.json"))
        self.assertEqual(manifest["format"], "expunge-backup-v1")
        self.assertEqual((manifest["half"], manifest["backup_id"]), (half, made["backup_id"]))
        self.assertEqual(manifest["sequence"], made["sequence"])
        listed = [entry["name"] for entry in manifest["files"]]
        self.assertEqual(listed, sorted(listed))
        self.assertEqual(set(listed), set(files), "every file is listed, and nothing else")
        for entry in manifest["files"]:
            content = files[entry["name"]]
            self.assertEqual(entry["size"], len(content), entry["name"])
            self.assertEqual(entry["sha256"], hashlib.sha256(content).hexdigest(), entry["name"])
        return len(files), sum(map(len, files.values()))

    def check_backup(self, name, made):
        files, size = (sum(pair) for pair in zip(self.check_half(f"{name}.records", "database", made),
                                                 self.check_half(f"{name}.keys", "vault", made)))
        self.assertEqual((made["file_count"], made["total_bytes"]), (files, size))

    def test_backups_made_during_changes_are_what_their_manifests_say(self):
        self.create("busy")
        changes = Changes(self)
        changes.start()
        self.addCleanup(changes.join)
        self.addCleanup(changes.enough.set)
        changes.wait_for(2)
        made = {}
        for name in ("first", "second"):
            before = changes.rounds
            made[name] = self.make_backup(name)
            changes.wait_for(before + 3)  # they go on
        changes.enough.set()
        changes.join()
        self.assertEqual(changes.errors, [])
        self.assertNotEqual(made["first"]["backup_id"], made["second"]["backup_id"])
        self.assertLess(made["first"]["sequence"], made["second"]["sequence"])
        self.assertEqual(self.state("busy")["token_count"], 2 * changes.rounds)
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        for name, answer in made.items():
            self.check_backup(name, answer)
        # What must be in no backup.
        for secret in ("master.key", "signing_key.pem", "checkpoint_key.pem"):
            with open(os.path.join(self.server.data, secret), "rb") as file:
                lines = [line for line in file.read().splitlines() if len(line) > 40]
            self.assertEqual(len(lines), 1, secret)
            raw = bytes.fromhex(lines[0].decode()) if secret == "master.key" else base64.b64decode(lines[0])[-32:]
            for half in ("first.records", "first.keys"):
                for name, content in files_of(self.path(half)).items():
                    self.assertNotIn(lines[0], content, name)
                    self.assertNotIn(raw, content, name)
        self.assertEqual(self.state("busy")["token_count"], 2 * changes.rounds)

    def test_the_text_says_what_to_keep_where(self):
        text = self.expunge(*self.admin, "backup", "create", "--database", self.path("text.records"), "--vault",
                            self.path("text.keys")).stdout
        self.assertRegex(text, r"^Backup [0-9a-f]{32}\n")
        for word in (self.path("text.records"), self.path("text.keys"), "different places", "master key"):
            self.assertIn(word, text)

    def test_refusals_say_what_to_do(self):
        self.make_backup("taken")
        for database, reason, hint in ((self.path("taken.records"), "PATH_EXISTS", "nothing"),
                                       ("relative", "PATH_INVALID", "absolute"),
                                       (os.path.join(self.server.data, "db", "inside"), "PATH_INVALID", "outside"),
                                       (self.path("no/such/folder"), "PATH_INVALID", "folder that exists")):
            error = self.error(*self.admin, "backup", "create", "--database", database, "--vault", self.path("fresh"),
                               code=1)
            self.assertEqual((error["reason"], error["field"]), (reason, "database_path"))
            self.assertIn(hint, error["hint"])
        self.assertFalse(os.path.exists(self.path("fresh")))

    def test_status_counts_and_needs_no_more_than_the_socket(self):
        self.filled("counted")
        status = self.answer(*self.admin, "server", "status")
        self.assertTrue(status["writable"])
        self.assertGreaterEqual(status["token_count"], 5)
        self.assertGreater(status["database_free_bytes"], 0)
        self.assertFalse(status["backup_running"])
        done = self.expunge("server", "status", env={"EXPUNGE_ADMIN": self.admin[1]})
        self.assertRegex(done.stdout, r"^expunged \d+\.\d+\.\d+ \(")
        self.assertIn("free for vault", done.stdout)

    def test_where_nobody_listens_the_error_says_how_to_name_the_socket(self):
        error = self.error("--admin", f"unix:{self.path('nowhere.sock')}", "server", "status", code=3)
        self.assertIn("--admin unix:DATA-DIR/admin.sock", error["hint"])
        error = self.error("--admin", self.server.address, "server", "status", code=1)
        self.assertIn("--admin", error["hint"])

    def test_the_socket_is_the_owners_alone_and_comes_again_after_a_kill(self):
        path = os.path.join(self.server.data, "admin.sock")
        mode = os.lstat(path).st_mode
        self.assertTrue(stat.S_ISSOCK(mode))
        self.assertEqual(stat.S_IMODE(mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(self.server.data).st_mode), 0o700)
        with open(self.server.log, encoding="utf-8") as log:
            self.assertIn(f"administration on unix:{path}", log.read())
        self.server._process.send_signal(signal.SIGKILL)
        self.server._process.wait()
        self.assertTrue(os.path.exists(path), "a kill leaves it")
        self.server.start()
        self.assertTrue(self.answer(*self.admin, "server", "status")["writable"])


class AddressTest(ServerTest):
    def other(self, name, *options):
        os.mkdir(self.path(name))
        server = Server(self.path(name), *options)
        server.start()
        self.addCleanup(server.stop)
        return server

    def test_any_path_of_a_socket_is_meant_as_it_is(self):
        path = self.path("odd name?#%41&.sock")
        self.other("odd", "--admin-address", f"unix:{path}")
        self.assertTrue(stat.S_ISSOCK(os.lstat(path).st_mode))
        self.assertTrue(self.answer("--admin", f"unix:{path}", "server", "status")["writable"])

    def test_none_switches_it_off(self):
        server = self.other("off", "--admin-address", "none")
        self.assertFalse(os.path.exists(os.path.join(server.data, "admin.sock")))

    def test_a_port_of_the_loopback_is_told_in_the_log(self):
        server = self.other("loopback", "--admin-address", "127.0.0.1:0")
        with open(server.log, encoding="utf-8") as log:
            text = log.read()
        self.assertIn("every user of this machine", text)
        address = re.search(r"administration on (127\.0\.0\.1:\d+)", text).group(1)
        self.assertTrue(self.answer("--admin", address, "server", "status")["writable"])

    def test_wrong_addresses_are_wrong_usage(self):
        for address in ("0.0.0.0:7421", "example.org:1", "/a.sock", "unix:" + "/p" * 54):
            done = self.run_program(binary("expunged"), "--data-dir", self.path("never"), "--admin-address", address,
                                    code=2)
            self.assertIn("--admin-address", done.stderr)
        self.assertFalse(os.path.exists(self.path("never")))


if __name__ == "__main__":
    main()
