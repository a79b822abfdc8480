"""Runs the built programs for the tests in this folder. EXPUNGE_BIN names the directory that they are in."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.normpath(os.path.join(HERE, "..", "..", "client", "examples"))
WISCONSIN = os.path.join(EXAMPLES, "wisconsin.csv")
TIMEOUT_S = 120

# An answer of a sanitizer, of glibc or of the C++ run time is never what a user may see.
FORBIDDEN = ("terminate called", "Segmentation fault", "Sanitizer", "Aborted", "what():", "Assertion")


def binary(name):
    return os.path.join(os.environ["EXPUNGE_BIN"], name)


def run(*command, env=None):
    """Runs a command to its end, whatever its exit code."""
    settings = {key: value for key, value in os.environ.items() if not key.startswith("EXPUNGE_")}
    settings.update(env or {})
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S,
                          check=False, env=settings)


class Server:
    """One expunged on a free port of this machine, with options of its own, on a data directory that outlives it."""

    def __init__(self, directory, *options):
        self._directory = directory
        self._options = options
        self._process = None
        self.address = None
        self.data = os.path.join(directory, "data")
        self.log = os.path.join(directory, "expunged.log")

    def start(self, environment=None):
        """`environment`: what is added to that of this process."""
        port_file = os.path.join(self._directory, "port")
        if os.path.exists(port_file):  # of one that was killed
            os.remove(port_file)
        # setpriv, where there is one, ends the server with this process, however that ends.
        leash = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        with open(os.path.join(self._directory, "expunged.err"), "ab") as errors:
            self._process = subprocess.Popen(
                [*leash, binary("expunged"), "--data-dir", self.data, "--address", "127.0.0.1:0",
                 "--port-file", port_file, "--log-file", self.log, *self._options],
                stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, env={**os.environ, **(environment or {})})
        end = time.monotonic() + TIMEOUT_S
        while not os.path.exists(port_file):
            if self._process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"expunged does not serve (exit code {self._process.poll()})")
            time.sleep(0.01)
        with open(port_file, encoding="ascii") as file:
            self.address = f"127.0.0.1:{int(file.read())}"

    def stop(self):
        self._process.terminate()
        return self._process.wait(timeout=TIMEOUT_S)


class ProgramTest(unittest.TestCase):
    """A test with a temporary directory. Every run of a program is checked for signs of a crash."""

    server = None

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="expunge-test-")
        cls.addClassCleanup(shutil.rmtree, cls.directory)

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, content):
        mode = "wb" if isinstance(content, bytes) else "w"
        with open(self.path(name), mode) as file:
            file.write(content)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def run_program(self, *command, code, env=None):
        done = run(*command, env=env)
        for sign in FORBIDDEN:
            self.assertNotIn(sign, done.stdout + done.stderr, command)
        self.assertEqual(done.returncode, code, f"{command}\n{done.stdout}\n{done.stderr}")
        return done

    def expunge(self, *arguments, code=0, env=None):
        server = [] if self.server is None else ["--server", self.server.address]
        return self.run_program(binary("expunge"), *server, *arguments, code=code, env=env)

    def answer(self, *arguments):
        """What `expunge --output json` answers."""
        return json.loads(self.expunge("--output", "json", *arguments).stdout)

    def error(self, *arguments, code):
        """The error object of a call that ends with `code`; standard output stays empty."""
        done = self.expunge("--output", "json", *arguments, code=code)
        self.assertEqual(done.stdout, "")
        error = json.loads(done.stderr)["error"]
        self.assertEqual(error["exit_code"], code)
        return error


class ServerTest(ProgramTest):
    """The same, with a running server. It must stop cleanly at the end."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Server(cls.directory)
        cls.server.start()
        cls.addClassCleanup(cls.stop_server)

    @classmethod
    def stop_server(cls):
        code = cls.server.stop()
        if code != 0:
            raise AssertionError(f"expunged ended with exit code {code}")

    def create(self, memory, keys=2, values=1, **options):
        words = {"gamma": "0.5", "min-support": "3", **options}
        arguments = [word for name, value in words.items() for word in (f"--{name}", value)]
        return self.answer("memory", "create", memory, "--key-dimension", str(keys), "--value-dimension", str(values),
                           *arguments)

    def filled(self, memory, rows=5):
        """A memory of `rows` tokens t1, t2, ... of the subjects s1, s2, ...; the answer of the import."""
        lines = ["id,who,x,y,v"] + [f"t{i},s{i},{i},{i * i % 7},{i / 2}" for i in range(1, rows + 1)]
        path = self.write(f"{memory}.csv", "\n".join(lines) + "\n")
        self.create(memory)
        return self.answer("import", memory, "--csv", path, "--key-columns", "x,y", "--value-columns", "v",
                           "--id-column", "id", "--subject-columns", "who", "--receipts", self.path(f"{memory}.receipts"))

    def state(self, memory):
        """Everything that a memory says of itself."""
        return self.answer("memory", "get", memory, "--full")


def main():
    if "EXPUNGE_BIN" not in os.environ:
        sys.exit("EXPUNGE_BIN must name the directory of the built programs")
    unittest.main(verbosity=2)
