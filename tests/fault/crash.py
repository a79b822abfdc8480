"""A data directory of its own with a server that can be told where to die, and what a caller sees of it."""

import json
import os
import shutil
import time

from fault import TIMEOUT_S, FaultServer, Vault, binary, copy_directory
from harness import run

DIED = -9


def require(condition, message):
    if not condition:
        raise AssertionError(message)


class Place:
    """One data directory, a copy of another's or new, and its server. `options`, or the other's, go to expunged.

    With `ledger_copy` the server copies its deletions to the file `ledger` beside the directory.
    """

    def __init__(self, directory, copy_of=None, options=(), ledger_copy=False):
        os.makedirs(directory)
        self.directory, self.options, self.server = directory, options, None
        self.ledger_copy = ledger_copy or (copy_of is not None and copy_of.ledger_copy)
        if self.ledger_copy:
            self.options = (*options, "--ledger-copy", self.path("ledger"))
        if copy_of is not None:
            copy_directory(os.path.join(copy_of.directory, "data"), os.path.join(directory, "data"))
            if copy_of.ledger_copy:
                shutil.copyfile(copy_of.path("ledger"), self.path("ledger"))

    def path(self, name):
        return os.path.join(self.directory, name)

    def remove(self):
        if self.server is not None:
            self.server.end()
        shutil.rmtree(self.directory)

    # ---- The server ----

    def start(self, options=None):
        """As a user does. What it passes goes to no file."""
        self.server = FaultServer(self.directory, *(self.options if options is None else options))
        self.server.start()

    def start_traced(self, trace, crash_at=None, options=None):
        """Names every point that is passed in the file `trace`, and dies at `crash_at`, perhaps before it serves."""
        self.server = FaultServer(self.directory, *(self.options if options is None else options))
        environment = {"EXPUNGE_CRASH_TRACE": self.path(trace)}
        if crash_at is not None:
            environment["EXPUNGE_CRASH_AT"] = crash_at
        try:
            self.server.start(environment)
        except AssertionError:
            if crash_at is None or self.server.exit_code() != DIED:
                raise

    def await_death(self):
        end = time.monotonic() + TIMEOUT_S
        while self.server.exit_code() is None and time.monotonic() < end:
            time.sleep(0.005)
        require(self.server.exit_code() == DIED, f"the server did not die: {self.server.exit_code()}")

    def passed(self, trace):
        """The points in `trace`, in order."""
        try:
            with open(self.path(trace), encoding="ascii") as file:
                return file.read().split()
        except FileNotFoundError:
            return []

    # ---- Calls ----

    def call(self, *arguments):
        return run(binary("expunge"), "--server", self.server.address, "--output", "json", *arguments)

    def answer(self, *arguments):
        done = self.call(*arguments)
        require(done.returncode == 0, f"{arguments}: {done.returncode} {done.stdout} {done.stderr}")
        return json.loads(done.stdout)

    def see(self):
        """Everything that a caller sees of the memories, by name."""
        seen = {}
        for memory in self.answer("memory", "list")["memories"]:
            name = memory["name"].rsplit("/", 1)[1]
            seen[name] = {**self.answer("memory", "get", name, "--full"), "tokens": self.answer("tokens", name)["tokens"]}
            del seen[name]["create_time"]
        return seen

    def certificates(self):
        """[(stage, what it completes, envelope)] of all certificates, oldest first."""
        found = []
        for one in self.answer("cert", "list")["certificates"]:
            path = self.path("listed.json")
            self.answer("cert", "get", one["name"].rsplit("/", 1)[1], "--out", path)
            with open(path, "rb") as file:
                found.append((one["stage"], one["completes"], file.read()))
        return found

    def vault(self):
        return Vault(self.path("data/vault/keys"), self.path("data/master.key"))


def without_chance(seen):
    """What see() returns without what is drawn at random for new tokens and memories."""
    return {name: {**memory, "state": memory["state"]["epoch"],
                   "tokens": [{key: value for key, value in token.items() if key != "commitment"}
                              for token in memory["tokens"]]} for name, memory in seen.items()}
