"""SIGKILL at random moments under load: what was acknowledged is there, what was deleted is not, and a retry answers the same.

EXPUNGE_KILLS is how many times (15); EXPUNGE_SEED begins the same sequence of calls and waits again.
"""

import os
import random
import threading
import time

from fault import FaultTest, binary, main
from harness import run

KILLS = int(os.environ.get("EXPUNGE_KILLS", "15"))
SEED = int(os.environ.get("EXPUNGE_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
KEPT = 40  # about so many tokens, so that a call stays short


class Load:
    """One caller after the other adds and deletes tokens, until a call gets no answer."""

    def __init__(self, test, numbers):
        self._test, self._numbers, self._count = test, numbers, 0
        self.living = set()       # acknowledged, or never deleted by a call that may have been carried out
        self.deleted = {}         # {token: its deletion's number}
        self.certificates = {}    # {deletion: (arguments, the bytes that were received)}
        self.pending = None       # the call that got no answer
        self.problem = None

    def retry_pending(self):
        """The call that was cut off, again, with its request id: it must be carried out once."""
        if self.pending is not None:
            code, done = self._carry_out(self.pending)
            self._test.assertEqual(code, 0, done)
            self.pending = None

    def until_no_answer(self):
        try:
            while True:
                self._count += 1
                delete = self.living and self._numbers.random() < len(self.living) / KEPT
                token = self._numbers.choice(sorted(self.living)) if delete else f"token-{self._count:06}"
                call = ("delete" if delete else "add", self._count, token)
                code, done = self._carry_out(call)
                if code != 0:
                    self.pending = call
                    if code != 3:  # neither done nor without an answer
                        self.problem = (call, done)
                    return
        except Exception as error:  # a thread's own exceptions would be lost
            self.problem = error

    def _carry_out(self, call):
        kind, number, token = call
        server = [binary("expunge"), "--server", self._test.server.address, "--output", "json"]
        out = self._test.path(f"certificate-{number}")
        if kind == "add":
            path = self._test.write("add.csv", f"id,x,y,v\n{token},{number % 17},{number % 23},{number % 5}\n")
            done = run(*server, "import", "killed", "--csv", path, "--key-columns", "x,y", "--value-columns", "v",
                       "--id-column", "id", "--request-id", f"request-{number}")
        else:
            done = run(*server, "delete", "killed", "--token", token, "--request-id", f"request-{number}", "--out", out)
        if done.returncode == 0:
            if kind == "add":
                self.living.add(token)
            else:
                self.living.discard(token)
                self.deleted[token] = number
                with open(out, "rb") as file:
                    self.certificates[number] = (token, file.read())
        return done.returncode, done


class KillTest(FaultTest):
    def test_nothing_acknowledged_is_lost_and_nothing_deleted_returns(self):
        print(f"seed {SEED}, {KILLS} kills (EXPUNGE_SEED, EXPUNGE_KILLS)", flush=True)
        numbers = random.Random(SEED)
        self.serve("--erase-bytes-within", "1s")
        self.create("killed", keys=2, values=1)
        load = Load(self, numbers)
        unanswered = carried_out = 0
        for kill in range(KILLS):
            wait = numbers.uniform(0.05, 1.5) if kill % 3 else numbers.uniform(0.0, 0.2)
            thread = threading.Thread(target=load.until_no_answer)
            thread.start()
            time.sleep(wait)
            self.server.kill()
            thread.join()
            self.assertIsNone(load.problem, f"seed {SEED}")
            self.server.start()
            with self.subTest(seed=SEED, kill=kill):
                there = self.check_tokens(load)
                self.check_last_certificates(load)
                if load.pending is not None:
                    unanswered += 1
                    carried_out += (load.pending[0] == "add") == (load.pending[2] in there)
                load.retry_pending()
                self.check_tokens(load)
        print(f"{len(load.living)} tokens live, {len(load.deleted)} deleted, {unanswered} calls cut off, "
              f"{carried_out} of them carried out")
        self.assertGreater(len(load.living), 0)
        self.assertGreater(len(load.deleted), 0, "the load never deleted anything: no claim was tried")
        self.check_every_certificate(load)
        self.wait_for_purged(len(load.deleted))  # each deletion has its second certificate, across all kills
        self.assertEqual(self.server.stop(), 0)

    def check_tokens(self, load):
        """The living are there, the deleted are not; the token of a call that was cut off may be either way."""
        open_token = {load.pending[2]} if load.pending else set()
        there = {token["token_id"] for token in self.answer("tokens", "killed")["tokens"]}
        self.assertEqual(there - open_token, load.living - open_token)
        return there

    def check_last_certificates(self, load):
        for number in sorted(load.certificates)[-3:]:
            token, received = load.certificates[number]
            path = self.path("again")
            self.answer("delete", "killed", "--token", token, "--request-id", f"request-{number}", "--out", path)
            self.assertEqual(self.read("again"), received)
            os.remove(path)

    def check_every_certificate(self, load):
        self.answer("cert", "keys", "--out", self.path("issuer.pem"))
        files = [self.path(f"certificate-{number}") for number in load.certificates]
        for at in range(0, len(files), 200):
            verdict = self.answer("cert", "verify", *files[at:at + 200], "--key", self.path("issuer.pem"))
            self.assertTrue(verdict["verified"])


if __name__ == "__main__":
    main()
