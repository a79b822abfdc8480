"""Readouts in every precision, in single calls and in one stream; and what the server says of how it reads."""

import json
import os

from harness import ServerTest, binary, main, run

FAST = ("float64", "float32", "bfloat16")


class ReadoutsTest(ServerTest):
    def queries(self, name, rows):
        lines = ["id,x,y"] + [f"q{i},{i % 37 / 7},{i % 11 - 3}" for i in range(rows)]
        return self.write(f"{name}.queries.csv", "\n".join(lines) + "\n")

    def readouts(self, memory, path, *options):
        answer = self.answer("read", memory, "--csv", path, "--id-column", "id", "--key-columns", "x,y", *options)
        return answer["readouts"]

    def test_each_precision_is_within_its_bound_of_the_certified_answer(self):
        self.filled("precise", rows=30)
        path = self.queries("precise", 50)
        certified = self.readouts("precise", path)
        self.assertEqual({(readout["precision"], readout["backend"]) for readout in certified}, {("certified", "cpu")})
        for precision in FAST:
            for fast, exact in zip(self.readouts("precise", path, "--precision", precision), certified, strict=True):
                self.assertIn(fast["precision"], FAST)
                self.assertIn(fast["backend"], ("cpu", "cuda"))
                self.assertEqual(fast["state"], exact["state"])
                self.assertLessEqual(abs(fast["output"][0] - exact["output"][0]),
                                     fast["error_bound"] + exact["error_bound"])

    def test_a_stream_answers_as_single_calls_do(self):
        self.filled("streamed", rows=30)
        path = self.queries("streamed", 3500)  # four requests
        for options in ((), ("--contributions",)):
            self.assertEqual(self.readouts("streamed", path, *options, "--stream"),
                             self.readouts("streamed", path, *options))
        text = self.expunge("read", "streamed", "--query", "1,1", "--precision", "float32", "--stream").stdout
        self.assertRegex(text, r"\ncomputed float32 on the (cpu|cuda)\n")
        self.assertIn("computed certified on the cpu", self.expunge("read", "streamed", "--query", "1,1").stdout)

    def test_contributions_are_certified(self):
        self.filled("shares")
        [plain] = self.answer("read", "shares", "--query", "1,1", "--contributions")["readouts"]
        [asked] = self.answer("read", "shares", "--query", "1,1", "--contributions", "--precision", "float32")["readouts"]
        self.assertEqual(asked, plain)

    def test_errors_in_a_stream_are_those_of_a_call(self):
        self.create("nothing")
        for memory, query in (("absent", "1,1"), ("nothing", "1,1"), ("nothing", "1,2,3")):
            arguments = ("read", memory, "--query", query)
            self.assertEqual(self.error(*arguments, "--stream", code=1), self.error(*arguments, code=1))
        done = self.expunge("read", "nothing", "--query", "1,1", "--precision", "float16", code=2)
        self.assertIn("--precision", done.stderr)

    def test_status_and_log_say_what_reads(self):
        self.filled("counted")
        admin = ("--admin", f"unix:{os.path.join(self.server.data, 'admin.sock')}")

        def status():
            return self.answer(*admin, "server", "status")["readouts"]

        before = status()
        self.assertIn(before["backend"], ("cpu", "cuda"))
        self.assertTrue(before["device"])
        self.answer("read", "counted", "--query", "1,1", "--query", "2,2")
        counts = [{row["precision"]: (row["request_count"], row["query_count"]) for row in one["counts"]}
                  for one in (before, status())]
        self.assertEqual(list(counts[0]), ["certified", *FAST])
        self.assertEqual(counts[1]["certified"], (counts[0]["certified"][0] + 1, counts[0]["certified"][1] + 2))
        self.assertIn(before["device"], self.expunge(*admin, "server", "status").stdout)
        with open(self.server.log, encoding="utf-8") as file:
            messages = [json.loads(line)["message"] for line in file]
        [said] = [message for message in messages if message.startswith("readouts on the ")]
        self.assertIn("--readout=auto", said)
        self.assertIn(before["device"], said)

    def test_a_device_that_is_not_there_stops_the_start_before_anything_is_made(self):
        admin = ("--admin", f"unix:{os.path.join(self.server.data, 'admin.sock')}")
        if self.answer(*admin, "server", "status")["readouts"]["backend"] == "cuda":
            self.skipTest("this machine has a device, and this build uses it")
        data = self.path("untouched")
        done = run(binary("expunged"), "--data-dir", data, "--address", "127.0.0.1:0", "--readout", "cuda")
        self.assertEqual(done.returncode, 1)
        self.assertIn("expunged: cannot start: ", done.stderr)
        self.assertIn("--readout=cpu or auto", done.stderr)
        self.assertFalse(os.path.exists(data))
        for option, value in (("--readout", "gpu"), ("--readout-threads", "-1"), ("--readout-batch-delay", "1h"),
                              ("--readout-device-memory", "1")):
            done = run(binary("expunged"), "--data-dir", data, option, value)
            self.assertEqual(done.returncode, 2)
            self.assertIn(option, done.stderr)


if __name__ == "__main__":
    main()
