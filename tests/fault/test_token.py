"""expunged with a master key that a PKCS#11 token seals (SoftHSM): the program from outside, and what is left of the PIN."""

import base64
import json
import os
import shutil
import subprocess

from fault import FaultServer, FaultTest, binary, main, search_files, search_memory, skip_whole_file
from harness import TIMEOUT_S, run

MODULES = ("/usr/lib/softhsm/libsofthsm2.so", "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so",
           "/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so")
MODULE = next((path for path in MODULES if os.path.exists(path)), None)
PIN = "correct-horse-battery-staple-27182"
CUSTODY = "sealed under a key that a PKCS#11 token holds and does not give out"


class TokenTest(FaultTest):
    def make_token(self):
        os.mkdir(self.path("tokens"))
        configuration = self.write("softhsm2.conf", f"directories.tokendir = {self.path('tokens')}\nlog.level = ERROR\n")
        self.environment = {"SOFTHSM2_CONF": configuration}
        subprocess.run(["softhsm2-util", "--init-token", "--free", "--label", "the token", "--pin", PIN, "--so-pin", "31415926"],
                       env={**os.environ, **self.environment}, check=True, capture_output=True, timeout=TIMEOUT_S)

    def write_pin(self, pin):
        path = self.write("pin", pin + "\n")
        os.chmod(path, 0o600)
        return path

    def options(self):
        return ("--master-key-module", MODULE, "--master-key-token", "the token", "--master-key-pin-file", self.path("pin"),
                "--erase-bytes-within", "1s")

    def refusal(self, **changes):
        """What a start says that must be refused."""
        options = [changes.get(option, option) for option in self.options()]
        done = run(binary("expunged"), "--data-dir", self.server.data, "--address", "127.0.0.1:0", *options, env=self.environment)
        self.assertEqual(done.returncode, 1)
        return done.stderr

    def test_a_server_on_a_token_serves_restarts_and_refuses_without_it(self):
        self.make_token()
        self.write_pin(PIN)
        type(self).server = FaultServer(self.directory, *self.options())
        self.addCleanup(self.server.end)
        self.server.start(self.environment)
        self.create("birds", keys=2, values=1)
        self.add("birds", [(f"t{i}", "who", [i / 3, 1.0 - i], [1.0]) for i in range(9)])
        self.answer("delete", "birds", "--token", "t4")
        self.wait_for_purged(1)
        for certificate in self.answer("cert", "list")["certificates"]:
            path = self.path("certificate.json")
            self.answer("cert", "get", certificate["name"], "--out", path)
            with open(path, "rb") as file:
                payload = json.loads(base64.b64decode(json.load(file)["payload"]))
            os.remove(path)
            self.assertIn(CUSTODY, payload["predicate"]["erasure"]["custody"])
        self.assertFalse(os.path.exists(os.path.join(self.server.data, "master.key")))

        # Only the file with the PIN has the PIN: no other file, no argument, no variable, and, looked for as root, no memory.
        forms = {"pin": PIN.encode()}
        os.rename(self.path("pin"), self.path("pin-kept"))
        self.assertEqual(search_files(forms, self.path("pin-kept"))[0], [(self.path("pin-kept"), "pin")])
        self.assertEqual(search_files(forms, self.server.data, self.path("tokens"), self.server.log)[0], [])
        if os.geteuid() == 0:
            hits, size = search_memory(self.server.pid, {**forms, "control": self.path("pin").encode()})
            print(f"searched {size} bytes of memory for the PIN")
            self.assertGreater(hits["control"], 0, "the control: the name of its file is in the arguments")
            self.assertEqual(hits["pin"], 0)
        os.rename(self.path("pin-kept"), self.path("pin"))
        self.assertEqual(self.server.stop(), 0)

        self.write_pin("wrong")
        self.assertIn("more wrong tries may lock the token", self.refusal())
        self.write_pin(PIN)
        self.assertIn("cannot be loaded", self.refusal(**{MODULE: "/no/module.so"}))
        self.assertIn("no token labelled", self.refusal(**{"the token": "another"}))
        self.server.start(self.environment)
        self.assertEqual(self.answer("memory", "get", "birds")["token_count"], 8)
        self.assertEqual(self.server.stop(), 0)


if __name__ == "__main__":
    if MODULE is None or shutil.which("softhsm2-util") is None:
        skip_whole_file("SoftHSM is not installed (package softhsm2)")
    main()
