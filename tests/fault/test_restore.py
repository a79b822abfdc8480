"""The disk is lost, and a backup is restored: what was deleted since the backup stays deleted, for every command that looks."""

import json
import os
import shutil
import tempfile

from fault import FaultServer, FaultTest, binary, main

NAMES = [f"held-{i:02}" for i in range(12)]


class RestoreTest(FaultTest):
    def setUp(self):
        self.directory = tempfile.mkdtemp(dir=type(self).directory)

    def restore(self, *arguments, code=0):
        return self.run_program(binary("expunged"), "restore", "--data-dir", self.path("new"), "--from-database",
                                self.path("backup-db"), "--from-vault", self.path("backup-vault"), "--output", "json",
                                *arguments, code=code)

    def names(self):
        return sorted(token["name"].rpartition("/")[2] for token in self.answer("tokens", "held")["tokens"])

    def certificates(self, folder):
        """The bytes of every certificate, in their order."""
        os.makedirs(folder)
        found = []
        for number, one in enumerate(self.answer("cert", "list")["certificates"]):
            out = os.path.join(folder, str(number))
            self.answer("cert", "get", one["name"], "--out", out)
            with open(out, "rb") as file:
                found.append(file.read())
        return found

    def live_and_lose(self):
        """A server with a backup in the middle of its life. Returns the certificates that it gave out."""
        server = self.serve("--ledger-copy", self.path("ledger"))
        self.create("held", keys=2, values=1)
        self.add("held", [(name, f"who-{name}", [i / 3, i % 5], [i / 2]) for i, name in enumerate(NAMES)])
        self.answer("delete", "held", "--token", NAMES[0])
        self.answer("--admin", f"unix:{server.data}/admin.sock", "backup", "create", "--database", self.path("backup-db"),
                    "--vault", self.path("backup-vault"))
        self.answer("delete", "held", "--token", NAMES[1], NAMES[2], "--request-id", "since", "--out", self.path("since"))
        self.add("held", [("late", "who-late", [9, 9], [1])])
        self.answer("purge", "--subject", f"who-{NAMES[5]}")
        issued = self.certificates(self.path("issued"))
        server.kill()
        return issued

    def take_keys_along(self):
        os.makedirs(self.path("new"), mode=0o700)
        for name in ("master.key", "signing_key.pem", "checkpoint_key.pem"):
            shutil.copy2(os.path.join(self.path("data"), name), self.path("new"))

    def serve_restored(self, *options):
        server = FaultServer(self.path("second"), *options)
        os.makedirs(self.path("second"))
        server.data = self.path("new")
        type(self).server = server
        self.addCleanup(server.end)
        server.start()
        return server

    def check_restored(self, issued):
        fsck = self.run_program(binary("expunged"), "fsck", "--data-dir", self.path("new"), "--output", "json", code=0)
        self.assertTrue(json.loads(fsck.stdout)["clean"], fsck.stdout)
        server = self.serve_restored("--ledger-copy", self.path("second-ledger"))
        self.assertEqual(self.names(), sorted(set(NAMES) - {NAMES[0], NAMES[1], NAMES[2], NAMES[5]}))
        after = self.certificates(self.path("after"))
        self.assertEqual(after[:len(issued)], issued)
        self.answer("delete", "held", "--token", NAMES[1], NAMES[2], "--request-id", "since", "--out", self.path("again"))
        with open(self.path("since"), "rb") as first, open(self.path("again"), "rb") as again:
            self.assertEqual(first.read(), again.read())
        self.answer("delete", "held", "--token", NAMES[3])
        self.assertEqual(server.stop(), 0)

    def test_the_copy_of_the_ledger_outlives_the_disk(self):
        issued = self.live_and_lose()
        self.take_keys_along()
        shutil.rmtree(self.path("data"))
        report = json.loads(self.restore("--ledger-copy", self.path("ledger")).stdout)
        self.assertEqual((report["deletions"], report["deleted_tokens"]), (2, 3))
        self.check_restored(issued)
        # The old copy does not belong to what was restored.
        refused = self.run_program(binary("expunged"), "--data-dir", self.path("new"), "--address", "127.0.0.1:0",
                                   "--ledger-copy", self.path("ledger"), code=1)
        self.assertIn("begin a new file", refused.stderr)

    def test_the_replaced_directory_serves_as_well(self):
        issued = self.live_and_lose()
        self.take_keys_along()
        report = json.loads(self.restore("--replaced-data-dir", self.path("data")).stdout)
        self.assertEqual((report["deletions"], report["deleted_tokens"]), (2, 3))
        self.check_restored(issued)

    def test_what_cannot_be_right_is_refused(self):
        self.live_and_lose()
        for arguments in ((), ("--ledger-copy", self.path("ledger"), "--without-ledger")):
            self.assertIn("since the backup", self.restore(*arguments, code=2).stderr)
        # The keys are in no backup.
        os.makedirs(self.path("new"), mode=0o700)
        self.assertIn("signing_key.pem", self.restore("--ledger-copy", self.path("ledger"), code=1).stderr)
        shutil.rmtree(self.path("new"))
        self.take_keys_along()
        self.assertIn("there is no ledger copy", self.restore("--ledger-copy", self.path("other"), code=1).stderr)
        # Half a restore is not served, and is begun again.
        served = self.run_program(binary("expunged"), "--data-dir", self.path("new"), "--address", "127.0.0.1:0", code=1)
        self.assertIn("was interrupted: run it again", served.stderr)
        with open(self.path("backup-vault/keys"), "r+b") as file:
            file.seek(300)
            file.write(b"\xff")
        self.assertIn("keys", self.restore("--ledger-copy", self.path("ledger"), code=1).stderr)


if __name__ == "__main__":
    main()
