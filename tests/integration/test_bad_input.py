"""Wrong input: the right exit code, a message that says what and where, a hint, and a memory that has not changed."""

import os
import socket

from harness import ServerTest, main

HEADER = "id,who,x,y,v\n"
IMPORT = ["--key-columns", "x,y", "--value-columns", "v", "--id-column", "id", "--subject-columns", "who"]


class BadInputTest(ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.filled(cls("test_files_are_refused_before_anything_is_sent"), "memory")

    def setUp(self):
        self.before = self.state("memory")

    def tearDown(self):
        self.assertEqual(self.state("memory"), self.before)

    def import_rows(self, rows, code, *options, columns=None):
        path = self.write("rows.csv", HEADER + rows)
        error = self.error("import", "memory", "--csv", path, *(columns or IMPORT), *options, code=code)
        self.assertNotEqual(error["hint"], "")
        return error

    def test_files_are_refused_before_anything_is_sent(self):
        for rows, words in (("a,s,1,nan,1\n", "row 1, column 'y': not a finite number"),
                            ("a,s,1,1,1\nb,s,1,inf,1\n", "row 2, column 'y': not a finite number"),
                            ("a,s,1,1,x\n", "row 1, column 'v': not a finite number"),
                            ("a,s,1,1,1\na,s,2,2,2\n", "rows 1 and 2 have the same id"),
                            ("a,,1,1,1\n", "row 1 names no subject"),
                            (",s,1,1,1\n", "row 1 has no id"),
                            ("a,s,1,1\n", "row 1 has 4 cells, not 5"),
                            ("a,\"s,1,1,1\n", "broken quotes in row 1"),
                            ("", "the CSV has no rows")):
            with self.subTest(rows=rows):
                self.assertIn(words, self.import_rows(rows, 2)["message"])

    def test_text_that_is_not_utf8_is_named_and_not_sent(self):
        with open(self.path("latin.csv"), "wb") as file:
            file.write(HEADER.encode() + b"caf\xe9,s,1,1,1\n")
        for arguments in (["import", "memory", "--csv", self.path("latin.csv"), *IMPORT], ["purge", "--subject", "\udcff"],
                          ["memory", "get", "\udcff"], ["delete", "memory", "--token", "\udcff"],
                          ["--tenant", "\udcff", "memory", "list"]):
            with self.subTest(arguments=arguments):
                error = self.error(*arguments, code=2)
                self.assertIn("is not UTF-8", error["message"])
                self.assertNotEqual(error["hint"], "")

    def test_a_legal_basis_that_a_certificate_cannot_hold(self):
        for basis in ("M\u00fcller", "a\x1b[2J"):
            error = self.error("purge", "--subject", "s1", "--legal-basis", basis, code=1)
            self.assertEqual(error["field"], "basis.legal_basis")
            self.assertIn("printable ASCII", error["hint"])

    def test_wrong_choices_are_named(self):
        row = "a,s,1,1,1\n"
        for columns, words in ((["--key-columns", "x,z", "--value-columns", "v"], "no column is named 'z'"),
                               (["--key-columns", "1-9", "--value-columns", "v"], "the file has columns 1 to 5"),
                               (["--value-columns", "v"], "--key-columns is missing"),
                               (["--key-columns", "x,y"], "the value is not clear"),
                               ([*IMPORT, "--rows", "2"], "the file has rows 1 to 1"),
                               ([*IMPORT, "--skip-rows", "1"], "no row is left"),
                               ([*IMPORT, "--exclude-ids", "/nonexistent"], "cannot read /nonexistent"),
                               ([*IMPORT, "--standardization", "x"], "add --standardize"),
                               ([*IMPORT, "--use-standardization", self.path("rows.csv")], "not a standardisation file"),
                               ([*IMPORT, "--receipts", "/nonexistent/x"], "cannot write /nonexistent/x")):
            with self.subTest(columns=columns):
                error = self.import_rows(row, 2, columns=columns)
                self.assertIn(words, error["message"] + error["hint"])

    def test_the_service_refuses_with_reason_and_field(self):
        for rows, reason in (("t1,s,1,1,1\n", "TOKEN_EXISTS"), ("a/b,s,1,1,1\n", "NAME_MALFORMED"),
                             ("a,s,1e200,1,1\n", "MAGNITUDE_OVERFLOW"), ("a" * 200 + ",s,1,1,1\n", "NAME_MALFORMED"),
                             ("a,white space,1,1,1\n", "NAME_MALFORMED")):
            with self.subTest(rows=rows[:40]):
                error = self.import_rows(rows, 1)
                self.assertIn(error["reason"], (reason, "TOO_LONG"))
                self.assertNotEqual(error["field"], "")
        error = self.import_rows("a,s,1,1,1\n", 1, columns=["--key-columns", "x", "--value-columns", "v"])
        self.assertEqual(error["reason"], "DIMENSION_MISMATCH")

    def test_every_command_passes_refusals_on(self):
        for arguments, reason in ((["memory", "get", "nope"], "MEMORY_UNKNOWN"), (["tokens", "nope"], "MEMORY_UNKNOWN"),
                                  (["memory", "get", "x" * 10_000], "NAME_MALFORMED"),
                                  (["memory", "delete", "nope"], "MEMORY_UNKNOWN"),
                                  (["read", "memory", "--query", "1,2,3"], "DIMENSION_MISMATCH"),
                                  (["delete", "memory", "--token", "nope"], "TOKEN_UNKNOWN"),
                                  (["delete", "memory", "--token", "t1", "t1"], "DUPLICATE_IN_BATCH"),
                                  (["purge", "--subject", "nobody"], "SUBJECT_UNKNOWN"),
                                  (["certify", "memory", "--nonce", "00" * 65], "TOO_LONG"),
                                  (["cert", "get", "nope"], "CERTIFICATE_UNKNOWN"),
                                  (["cert", "show", "nope"], "CERTIFICATE_UNKNOWN")):
            with self.subTest(arguments=[word[:40] for word in arguments]):
                error = self.error(*arguments, code=1)
                self.assertIn(error["reason"], (reason, "TOO_LONG"))

    def test_memories_that_cannot_be(self):
        base = ["--key-dimension", "2", "--value-dimension", "1"]
        for options, reason in ((["--gamma", "0", "--min-support", "1"], "OUT_OF_RANGE"),
                                (["--gamma", "nan", "--min-support", "1"], "NOT_FINITE"),
                                (["--gamma", "1", "--box-bound", "0"], "OUT_OF_RANGE"),
                                (["--gamma", "1", "--box-bound", "-1"], "OUT_OF_RANGE"),
                                (["--gamma", "1", "--min-support", "1", "--ridge", "1e-9"], "OUT_OF_RANGE")):
            with self.subTest(options=options):
                error = self.error("memory", "create", "never", *base, *options, code=1)
                self.assertEqual(error["reason"], reason)
                self.assertIn("config", error["field"])
        error = self.error("memory", "create", "memory", *base, "--gamma", "1", "--min-support", "1", code=1)
        self.assertEqual(error["reason"], "MEMORY_EXISTS")

    def test_local_mistakes_are_exit_code_2(self):
        for arguments in (["read", "memory"], ["read", "memory", "--query", "1,x"], ["certify", "memory", "--nonce", "xyz"],
                          ["read", "memory", "--query", "1,2", "--query", "1"], ["cert", "show"],
                          ["purge", "--subject", "s1", "--out-dir", self.path("memory.csv")],
                          ["cert", "keys", "--out", "/nonexistent/key.pem"],
                          ["memory", "create", "m", "--key-dimension", "1", "--value-dimension", "1", "--gamma", "1/x",
                           "--min-support", "1"]):
            with self.subTest(arguments=arguments):
                error = self.error(*arguments, code=2)
                self.assertNotEqual(error["hint"], "")

    def test_an_empty_memory_is_not_read(self):
        self.create("empty")
        self.assertEqual(self.error("read", "empty", "--query", "1,1", code=1)["reason"], "MEMORY_EMPTY")

    def test_receipts_are_not_mixed_into_a_file_that_others_may_read(self):
        path = self.write("public", "")
        os.chmod(path, 0o644)
        self.assertIn("open to others", self.import_rows("a,s,1,1,1\n", 2, "--receipts", path)["message"])

    def test_no_answer_is_exit_code_3_with_what_to_do(self):
        done = self.expunge("--server", "127.0.0.1:1", "memory", "list", code=3)
        self.assertIn("no answer from the service", done.stderr)
        self.assertIn("expunged --data-dir", done.stderr)

    def test_a_deadline_is_kept_and_the_request_id_told(self):
        with socket.socket() as deaf:  # accepts connections and never answers
            deaf.bind(("127.0.0.1", 0))
            deaf.listen()
            address = f"127.0.0.1:{deaf.getsockname()[1]}"
            error = self.error("--server", address, "--timeout", "0.3", "purge", "--subject", "s", code=3)
        self.assertRegex(error["hint"], r"--request-id cli-[0-9a-f]{32}$")


if __name__ == "__main__":
    main()
