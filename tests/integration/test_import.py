"""Import: batches, receipts, standardisation, resumption, progress."""

import json
import os
import re

from harness import WISCONSIN, ServerTest, binary, main

COLUMNS = ["--csv", WISCONSIN, "--key-columns", "4-33", "--one-hot", "diagnosis", "--id-column", "token", "--subject-columns",
           "patient"]


class ImportTest(ServerTest):
    def test_batches_give_the_same_memory_as_one(self):
        for memory, size in (("one", "1000"), ("many", "7")):
            self.create(memory, keys=30, values=2, gamma="1/30", **{"min-support": "10"})
            answer = self.answer("import", memory, *COLUMNS, "--rows", "1-60", "--standardize", "--batch-size", size)
            self.assertEqual((answer["imported"], answer["batches"]), (60, 1 if size == "1000" else 9))
        self.assertEqual(self.state("one")["fingerprint"], self.state("many")["fingerprint"])

    def test_an_import_repeated_with_its_request_id_changes_nothing(self):
        self.create("again", keys=30, values=2)
        arguments = ["import", "again", *COLUMNS, "--rows", "1-20", "--batch-size", "8", "--request-id", "import-1"]
        first = self.answer(*arguments, "--receipts", self.path("first"))
        state = self.state("again")
        second = self.answer(*arguments, "--receipts", self.path("second"))
        self.assertEqual({**first, "receipts": 0}, {**second, "receipts": 0})
        self.assertEqual(self.state("again"), state)
        self.assertEqual(self.read("first"), self.read("second"))
        self.assertEqual(os.stat(self.path("first")).st_mode & 0o777, 0o600)
        receipts = [json.loads(line) for line in self.read("first").splitlines()]
        tokens = self.answer("tokens", "again")["tokens"]
        self.assertEqual({receipt["token"]: receipt["commitment"] for receipt in receipts},
                         {token["name"]: token["commitment"] for token in tokens})

    def test_an_import_that_broke_off_goes_on(self):
        self.create("broken", keys=1)
        self.create("whole", keys=1)
        rows = [f"r{i},{i},{i}" for i in range(10)]
        bad = self.write("bad.csv", "\n".join(["id,x,v", *rows[:7], "no good,7,7", *rows[8:]]))
        good = self.write("good.csv", "\n".join(["id,x,v", *rows]))
        columns = ["--key-columns", "x", "--value-columns", "v", "--id-column", "id", "--batch-size", "3", "--request-id"]
        error = self.error("import", "broken", "--csv", bad, *columns, "resume", code=1)
        self.assertEqual(error["reason"], "NAME_MALFORMED")
        self.assertIn("rows 7 to 9 (6 tokens of earlier batches are in the memory)", error["message"])
        self.assertEqual(self.state("broken")["token_count"], 6)
        self.answer("import", "broken", "--csv", good, *columns, "resume")
        self.answer("import", "whole", "--csv", good, *columns, "whole")
        self.assertEqual(self.state("broken")["fingerprint"], self.state("whole")["fingerprint"])

    def test_queries_are_standardised_by_the_numbers_of_the_import(self):
        self.create("scaled", keys=1)
        path = self.write("scaled.csv", "x,v\n100,1\n200,2\n300,3\n")
        std = self.path("scaled.json")
        answer = self.answer("import", "scaled", "--csv", path, "--key-columns", "x", "--value-columns", "v", "--standardize",
                             "--standardization", std)
        deviation = (20000 / 3) ** 0.5
        self.assertEqual(answer["standardization"], {"rows": 3, "mean": [200.0], "deviation": [deviation]})
        stored = self.answer("read", "scaled", "--query", "250", "--standardization", std)
        by_hand = self.answer("read", "scaled", "--query", repr((250 - 200) / deviation))
        from_csv = self.answer("read", "scaled", "--csv", self.write("q.csv", "x\n250\n"), "--standardization", std)
        self.assertEqual(stored["readouts"][0]["output"], by_hand["readouts"][0]["output"])
        self.assertEqual(stored["readouts"][0]["output"], from_csv["readouts"][0]["output"])
        self.assertEqual(stored["labels"], ["v"])

    def test_stored_numbers_are_never_replaced_by_others(self):
        self.create("kept", keys=1)
        columns = ["--key-columns", "x", "--value-columns", "v", "--standardize", "--standardization", self.path("kept.json")]
        first = self.write("kept-1.csv", "x,v\n100,1\n200,2\n300,3\n")
        second = self.write("kept-2.csv", "x,v\n1,1\n2,2\n4,3\n")
        self.answer("import", "kept", "--csv", first, *columns, "--request-id", "kept")
        stored = self.read("kept.json")
        error = self.error("import", "kept", "--csv", second, *columns, code=2)
        self.assertIn("nothing was imported", error["message"])
        self.assertEqual(self.read("kept.json"), stored)
        self.answer("import", "kept", "--csv", first, *columns, "--request-id", "kept")  # the same numbers are no harm

    def test_receipts_that_could_not_be_saved_can_be_had_again(self):
        self.create("receipts", keys=1)
        path = self.write("receipts.csv", "x,v\n" + "".join(f"{i},{i}\n" for i in range(9)))
        arguments = ["import", "receipts", "--csv", path, "--key-columns", "x", "--value-columns", "v"]
        # A limit of no bytes a file stands for a full disk.
        done = self.run_program("bash", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "bash", binary("expunge"), "--server",
                                self.server.address, *arguments, "--receipts", self.path("lost"), code=2)
        self.assertIn("9 tokens are in the memory, but not all receipts are saved", done.stderr)
        [request_id] = re.findall(r"--request-id (cli-[0-9a-f]{32}) --receipts", done.stderr)
        self.answer(*arguments, "--request-id", request_id, "--receipts", self.path("found"))
        self.assertEqual(len(self.read("found").splitlines()), 9)
        self.assertEqual(self.state("receipts")["token_count"], 9)

    def test_names_from_a_file_do_not_steer_the_terminal(self):
        self.create("names", keys=1)
        path = self.write("names.csv", "x\x1b[2J,v\x9b\n1,2\n")
        done = self.expunge("import", "names", "--csv", path, "--key-columns", "1", "--value-columns", "2")
        self.assertIn("x\\x1b[2J", done.stdout)
        self.assertNotIn("\x1b", done.stdout)
        done = self.expunge("read", "names", "--csv", path, "--key-columns", "nope\x1b[2J", code=2)
        self.assertNotIn("\x1b", done.stderr)
        done = self.expunge("--output", "json", "import", "names", "--csv", path, "--key-columns", "1", "--value-columns", "2",
                            "--id-column", "2")
        self.assertTrue(done.stdout.isascii())
        self.assertEqual(json.loads(done.stdout)["value_labels"], ["v\x9b"])

    def test_a_file_without_header_and_with_another_delimiter(self):
        self.create("bare", keys=2)
        path = self.write("bare.csv", "a;1;2;0.5\nb;3;4;0.5\n")
        shape = ["--csv", path, "--no-header", "--delimiter", ";", "--key-columns", "2-3", "--id-column", "1"]
        answer = self.answer("import", "bare", *shape, "--value-columns", "4")
        self.assertEqual((answer["imported"], answer["key_columns"]), (2, ["2", "3"]))
        answer = self.answer("read", "bare", *shape, "--skip-rows", "1")
        self.assertEqual([(readout["id"], readout["output"]) for readout in answer["readouts"]], [("b", [0.5])])

    def test_many_queries_with_contributions_are_asked_in_parts(self):
        self.create("parts", keys=30, values=2, gamma="1/30")
        self.answer("import", "parts", *COLUMNS, "--rows", "1-100", "--standardize", "--standardization", self.path("parts.json"))
        columns = ["read", "parts", "--csv", WISCONSIN, "--id-column", "token", "--standardization", self.path("parts.json")]
        whole = self.answer(*columns)["readouts"]
        parts = self.answer(*columns, "--contributions")["readouts"]
        self.assertEqual(len(whole), 569)
        self.assertEqual([one["output"] for one in whole], [one["output"] for one in parts])

    def test_progress_is_shown_only_where_it_should_be(self):
        self.create("bar", keys=30, values=2)
        self.assertEqual(self.expunge("import", "bar", *COLUMNS, "--rows", "1-4", "--progress", "auto").stderr, "")
        done = self.expunge("--output", "json", "import", "bar", *COLUMNS, "--rows", "5-8", "--batch-size", "2", "--progress",
                            "always")
        self.assertIn("importing [###############---------------] 2/4   50 %", done.stderr)
        json.loads(done.stdout)

    def test_the_text_answer_says_what_was_done(self):
        self.create("text", keys=30, values=2)
        text = self.expunge("import", "text", *COLUMNS, "--rows", "1-4", "--standardize").stdout
        for words in ("Imported 4 tokens", "30: mean radius ... worst fractal dimension", "over 4 rows",
                      "2: diagnosis=benign, diagnosis=malignant", "patient", "--receipts FILE keeps them", "request id"):
            self.assertIn(words, text)


if __name__ == "__main__":
    main()
