"""Every command explains itself, with examples, and no command does anything but exit cleanly on wrong usage."""

import re

from harness import ProgramTest, binary, main

COMMANDS = [
    [], ["memory"], ["memory", "create"], ["memory", "get"], ["memory", "list"], ["memory", "delete"], ["import"],
    ["read"], ["tokens"], ["delete"], ["purge"], ["erasure"], ["erasure", "status"], ["certify"], ["cert"],
    ["cert", "get"], ["cert", "list"], ["cert", "watch"], ["cert", "export"], ["cert", "show"], ["cert", "verify"],
    ["cert", "report"], ["cert", "keys"], ["audit"], ["audit", "export"], ["log"], ["log", "proof"], ["log", "timestamp"],
    ["log", "verify-timestamp"], ["keys"], ["keys", "list"], ["keys", "export"], ["keys", "rotate"], ["evict"], ["backup"],
    ["backup", "create"], ["server"], ["server", "status"],
]


class HelpTest(ProgramTest):
    def test_every_command_has_help_with_examples(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                done = self.expunge(*command, "--help")
                self.assertIn("Usage: " + " ".join(["expunge", *command]), done.stdout)
                self.assertIn("Examples:\n  expunge", done.stdout)
                self.assertEqual(done.stderr, "")

    def test_no_command_is_missing_from_the_list_above(self):
        listed = {tuple(command) for command in COMMANDS}
        for command in ([], ["memory"], ["erasure"], ["cert"], ["audit"], ["log"], ["keys"], ["backup"], ["server"]):
            text = self.expunge(*command, "--help").stdout
            for name in re.findall(r"^  ([a-z]+) ", text.split("Subcommands:")[1].split("Examples:")[0], re.MULTILINE):
                self.assertIn((*command, name), listed)

    def test_the_examples_parse(self):
        # Each is tried against a port where nobody listens: 3 is "no answer", 2 a local file that is not there.
        for command in COMMANDS:
            text = self.expunge(*command, "--help").stdout.split("Examples:")[1].replace("\\\n", " ")
            for line in re.findall(r"^  (expunge .*)$", text, re.MULTILINE):
                with self.subTest(line=line):
                    shell = f"cd {self.directory} && {line.replace('expunge', binary('expunge'), 1)} 2>&1"
                    done = self.run_shell(shell)
                    self.assertIn(done.returncode, (2, 3), done.stdout)
                    self.assertNotIn("--help' for options", done.stdout)

    def run_shell(self, line):
        from harness import run
        return run("bash", "-c", line, env={"EXPUNGE_SERVER": "127.0.0.1:1", "EXPUNGE_ADMIN": "127.0.0.1:1"})

    def test_exit_codes_are_documented(self):
        text = self.expunge("--help").stdout
        self.assertEqual(re.findall(r"^  ([0-9])  ", text, re.MULTILINE), ["0", "1", "2", "3"])

    def test_the_version_is_told(self):
        self.assertRegex(self.expunge("--version").stdout, r"^\d+\.\d+\.\d+\n$")

    def test_wrong_usage_says_where_help_is(self):
        for arguments, words in (([], "expunge --help"), (["nope"], "expunge --help"),
                                 (["memory", "create"], "expunge memory create --help"),
                                 (["cert", "verify", "--key"], "expunge cert verify --help"),
                                 (["memory", "list", "--nope"], "expunge memory list --help"),
                                 (["--output", "xml", "memory", "list"], "--help"),
                                 (["--timeout", "0", "memory", "list"], "--help"),
                                 (["--server", "nowhere", "memory", "list"], "HOST:PORT"),
                                 (["--admin", "/a.sock", "server", "status"], "unix:PATH"),
                                 (["backup", "create", "--database", "/a"], "expunge backup create --help"),
                                 (["memory", "create", "m", "--key-dimension", "1", "--value-dimension", "1", "--gamma",
                                   "1", "--min-support", "2", "--box-bound", "0.5"], "expunge memory create --help")):
            with self.subTest(arguments=arguments):
                done = self.expunge(*arguments, code=2)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_wrong_usage_is_json_where_asked_for(self):
        self.assertIn("--help", self.error("memory", "create", code=2)["hint"])


if __name__ == "__main__":
    main()
