"""`expunged fsck`: clean data, damaged data, and what stands in the way; it changes nothing."""

import json
import os
import shutil

from harness import ServerTest, binary, main


def state_of(folder):
    """{path: (mode, time of the last change, bytes)} of everything in it."""
    state = {}
    for directory, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(directory, name)
            status = os.lstat(path)
            content = None
            if name in files and os.path.isfile(path):
                with open(path, "rb") as file:
                    content = file.read()
            state[path] = (status.st_mode, status.st_mtime_ns, status.st_ctime_ns, content)
    return state


def flip(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


class FsckTest(ServerTest):
    @classmethod
    def stop_server(cls):
        if cls.server.address is not None:
            super().stop_server()

    def fsck(self, *arguments, code, data=None):
        return self.run_program(binary("expunged"), "fsck", "--data-dir", data or self.server.data, *arguments, code=code)

    def report(self, *arguments, code, data=None):
        return json.loads(self.fsck("--output", "json", *arguments, code=code, data=data).stdout)

    def test_a_directory_from_its_first_day_to_its_damage(self):
        self.filled("cells", rows=8)
        self.filled("others", rows=3)
        self.answer("delete", "cells", "--token", "t3")
        busy = self.fsck(code=1)
        self.assertEqual(busy.stdout, "")
        self.assertIn("in use", busy.stderr)
        self.stop_server()
        self.server.address = None

        before = state_of(self.server.data)
        clean = self.report(code=0)
        self.assertEqual(state_of(self.server.data), before)
        self.assertTrue(clean["clean"])
        self.assertEqual(clean["problems"], [])
        counts = {name: clean[name] for name in ("tenants", "memories", "tokens", "certificates", "erasures")}
        self.assertEqual(counts, {"tenants": 1, "memories": 2, "tokens": 10, "certificates": 1, "erasures": 1})
        self.assertEqual(clean["records"]["tokens"], 10)
        text = self.fsck(code=0)
        self.assertEqual(text.stdout.splitlines()[-1], "no problems")
        self.assertEqual(text.stderr, "")  # no terminal, no bar
        self.assertTrue(self.report("--states", "hash", code=0)["clean"])

        self.check_damage()
        self.check_what_stands_in_the_way()

    def check_damage(self):
        """Every slot of the vault that holds a token's key, all at once: each is a problem of its own."""
        data = self.path("damaged")
        shutil.copytree(self.server.data, data)
        keys = os.path.join(data, "vault", "keys")
        for slot in range(1, os.path.getsize(keys) // 128):
            flip(keys, slot * 128 + 60)
        before = state_of(data)
        report = self.report(code=3, data=data)
        self.assertEqual(state_of(data), before)
        self.assertFalse(report["clean"])
        tables = {problem.get("table") for problem in report["problems"]}
        self.assertLessEqual({"meta", "memories", "tokens", "certificates", "erasures"}, tables)
        text = self.fsck(code=3, data=data).stdout
        self.assertEqual(len([line for line in text.splitlines() if line.startswith("tokens, memory ")]), 10)
        self.assertEqual(text.splitlines()[-1], f"{len(report['problems'])} problems")
        for name in ("cells", "others", "t3", "default"):
            self.assertNotIn(name, text.split("tenants ")[0])

        # One that nothing can be opened with.
        flip(keys, 20)
        [only] = self.report(code=3, data=data)["problems"]
        self.assertIn("header of the key vault is damaged", only["problem"])

    def check_what_stands_in_the_way(self):
        data = self.path("incomplete")
        shutil.copytree(self.server.data, data)
        os.remove(os.path.join(data, "signing_key.pem"))
        [missing] = self.report(code=3, data=data)["problems"]
        self.assertIn("signing key", missing["problem"])
        os.rename(os.path.join(data, "master.key"), os.path.join(data, "aside"))
        self.assertIn("master.key is missing", self.fsck(code=1, data=data).stderr)
        self.write("wrong.key", "ab" * 32 + "\n")
        os.chmod(self.path("wrong.key"), 0o600)
        wrong = self.fsck("--master-key-file", self.path("wrong.key"), code=1, data=data)
        self.assertIn("another master key", wrong.stderr)
        self.assertIn("no data directory", self.fsck(code=1, data=self.path("nowhere")).stderr)
        self.assertFalse(os.path.exists(self.path("nowhere")))
        self.run_program(binary("expunged"), "fsck", code=2)
        self.fsck("--output", "xml", code=2)
        self.fsck("--nope", code=2)
        help_text = self.run_program(binary("expunged"), "fsck", "--help", code=0).stdout
        self.assertIn("Examples:", help_text)
        self.assertIn("Exit codes:", help_text)


if __name__ == "__main__":
    main()
