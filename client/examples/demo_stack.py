"""What the demo stands on: the programs, a server on a temporary directory, and numbered, ticked output."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

START_TIMEOUT_S = 20
CALL_TIMEOUT_S = 60


class StepFailed(Exception):
    """A step did not hold; the message says which claim."""


class Report:
    """Numbered steps with ticks. Collects everything for --json."""

    def __init__(self):
        self.steps = []
        self.facts = {}
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._bold, self._green, self._red, self._dim, self._end = (
            ("\x1b[1m", "\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[0m") if colour else ("",) * 5)

    def title(self, text):
        print(f"{self._bold}{text}{self._end}\n", flush=True)

    def step(self, text):
        self.steps.append({"title": text, "held": True, "claims": []})
        print(f"{self._bold}{len(self.steps):2}. {text}{self._end}", flush=True)

    def note(self, text):
        for line in text.splitlines():
            print(f"      {line}", flush=True)

    def quote(self, text):
        for line in text.splitlines():
            print(f"    {self._dim}|{self._end} {line}", flush=True)

    def check(self, held, claim):
        """Ticks the claim, or ends the demo."""
        self.steps[-1]["claims"].append({"claim": claim, "held": bool(held)})
        if not held:
            self.steps[-1]["held"] = False
            print(f"    {self._red}✗ {claim}{self._end}", flush=True)
            raise StepFailed(f"step {len(self.steps)}: this did not hold: {claim}")
        print(f"    {self._green}✓{self._end} {claim}", flush=True)

    def skip(self, text):
        """What could not be looked at here, and why: no claim, and no tick."""
        self.steps[-1].setdefault("skipped", []).append(text)
        print(f"    {self._bold}-{self._end} {text}", flush=True)

    def summary(self, seconds, error):
        held = error is None
        print()
        if held:
            claims = sum(len(step["claims"]) for step in self.steps)
            skipped = sum(len(step.get("skipped", ())) for step in self.steps)
            print(f"{self._green}All {len(self.steps)} steps held{self._end} ({claims} claims checked, {seconds:.1f} s)."
                  + (f" Not looked at: {skipped}, as said above." if skipped else ""))
        else:
            print(f"{self._red}The demo failed{self._end}: {error}")
        return {"held": held, "error": error, "seconds": seconds, "steps": self.steps, "facts": self.facts}


class Stack:
    """The built programs and one server. Everything that it writes is under `directory`."""

    def __init__(self, binaries):
        self._programs = {name: os.path.abspath(os.path.join(binaries, name))
                          for name in ("expunged", "expunge", "expunge-verify")}
        self._server = None
        self._address = None
        for path in self._programs.values():
            if not os.access(path, os.X_OK):
                raise StepFailed(f"{path} is not there: build first, with ./dev build")
        if shutil.which("openssl") is None:
            raise StepFailed("openssl is not installed: run ./dev deps")
        self.directory = tempfile.mkdtemp(prefix="expunge-demo-")
        self.log = self.path("expunged.log")

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def start(self):
        """Starts the server on a free port and waits until it answers. Returns the seconds this took."""
        begin = time.monotonic()
        port_file = self.path("port")
        if os.path.exists(port_file):
            os.unlink(port_file)
        with open(self.path("expunged.err"), "ab") as errors:
            self._server = subprocess.Popen(
                # setpriv, where there is one, ends the server with this process, however that ends.
                [*(["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []), self._programs["expunged"],
                 "--data-dir", self.path("data"), "--address", "127.0.0.1:0", "--port-file", port_file, "--log-file",
                 self.log],
                stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
        while not os.path.exists(port_file):
            if self._server.poll() is not None:
                raise StepFailed(f"expunged ended with exit code {self._server.returncode}")
            if time.monotonic() - begin > START_TIMEOUT_S:
                raise StepFailed(f"expunged did not serve within {START_TIMEOUT_S} s")
            time.sleep(0.02)
        with open(port_file, encoding="ascii") as file:
            self._address = f"127.0.0.1:{int(file.read())}"
        return time.monotonic() - begin

    def kill(self):
        """SIGKILL: no chance to write anything. Returns the negative signal that ended the server."""
        self._server.send_signal(signal.SIGKILL)
        code = self._server.wait()
        self._server = None
        return code

    def stop(self):
        """SIGTERM. Returns the exit code, None if no server runs."""
        if self._server is None:
            return None
        self._server.terminate()
        try:
            code = self._server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._server.kill()
            code = self._server.wait()
        self._server = None
        return code

    def remove(self):
        shutil.rmtree(self.directory)

    def run(self, program, *arguments):
        """Runs a program to its end, whatever its exit code."""
        command = [self._programs.get(program, program), *arguments]
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=CALL_TIMEOUT_S, check=False)

    def expunge(self, *arguments):
        """Runs `expunge --output json`; its answer, parsed. Anything but exit code 0 ends the demo."""
        done = self.run("expunge", "--server", self._address, "--output", "json", *arguments)
        if done.returncode != 0:
            raise StepFailed(f"'expunge {' '.join(arguments[:3])} ...' ended with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def expunge_text(self, *arguments):
        done = self.run("expunge", "--server", self._address, *arguments)
        if done.returncode != 0:
            raise StepFailed(f"'expunge {' '.join(arguments[:3])} ...' ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def refused(self, *arguments):
        """The error of a call that must be refused: the parsed error object, with its exit code."""
        done = self.run("expunge", "--server", self._address, "--output", "json", *arguments)
        if done.returncode == 0:
            raise StepFailed(f"'expunge {' '.join(arguments[:3])} ...' succeeded, and should not")
        return json.loads(done.stderr)["error"]
