"""Every command against a real server, in text and in JSON."""

import base64
import json
import os
import stat
import subprocess

from harness import ServerTest, binary, main


class CommandsTest(ServerTest):
    def test_a_memory_is_created_described_and_listed(self):
        made = self.create("plain", keys=3, values=2, gamma="1/4")
        self.assertEqual(made["name"], "tenants/default/memories/plain")
        self.assertEqual(made["config"]["gamma"], 0.25)
        self.assertEqual(made["config"]["min_support"], 3)
        self.assertEqual(made["token_count"], 0)
        self.assertRegex(made["request_id"], r"^cli-[0-9a-f]{32}$")
        self.assertNotIn("fingerprint", self.answer("memory", "get", "plain"))
        self.assertRegex(self.state("plain")["fingerprint"], r"^[0-9a-f]{64}$")
        self.assertIn("plain", [memory["name"].split("/")[-1] for memory in self.answer("memory", "list")["memories"]])
        text = self.expunge("memory", "get", "tenants/default/memories/plain", "--full").stdout
        for word in ("gamma = 0.25", "C = 2/5", "fingerprint"):
            self.assertIn(word, text)

    def test_lists_follow_the_pages_to_the_end(self):
        for number in range(103):  # one page has 100
            self.expunge("--tenant", "pages", "memory", "create", f"m{number:03}", "--key-dimension", "1",
                         "--value-dimension", "1", "--gamma", "1", "--box-bound", "1")
        memories = self.answer("--tenant", "pages", "memory", "list")["memories"]
        self.assertEqual([memory["name"].split("/")[-1] for memory in memories], [f"m{i:03}" for i in range(103)])

    def test_tenants_come_from_the_environment_and_see_only_their_own(self):
        self.filled("mine")
        done = self.expunge("--output", "json", "memory", "list", env={"EXPUNGE_TENANT": "nobody"})
        self.assertEqual(json.loads(done.stdout)["memories"], [])
        done = self.expunge("memory", "get", "mine", code=1, env={"EXPUNGE_TENANT": "nobody"})
        self.assertIn("MEMORY_UNKNOWN", done.stderr)
        self.assertIn("expunge memory list", done.stderr)

    def test_read_answers_with_decision_error_bound_and_contributions(self):
        self.filled("readable")
        answer = self.answer("read", "readable", "--query", "1,1", "--query", "-20,-20", "--contributions")
        near, far = answer["readouts"]
        self.assertEqual([near["id"], far["id"]], ["query-1", "query-2"])
        self.assertLess(far["decision_value"], near["decision_value"])
        for readout in (near, far):
            self.assertAlmostEqual(sum(part["weight"] for part in readout["contributions"]), 1, places=12)
            self.assertGreaterEqual(readout["error_bound"], 0)
            self.assertEqual(len(readout["output"]), 1)
        self.assertEqual(answer["state"]["epoch"], 1)
        text = self.expunge("read", "readable", "--query", "1,1", "--contributions").stdout
        self.assertIn("DECISION", text)
        self.assertIn("was answered from", text)

    def test_tokens_can_be_listed_by_subject(self):
        self.filled("listed")
        tokens = self.answer("tokens", "listed")["tokens"]
        self.assertEqual([token["token_id"] for token in tokens], ["t1", "t2", "t3", "t4", "t5"])
        self.assertAlmostEqual(sum(token["weight"] for token in tokens), 1, places=12)
        [only] = self.answer("tokens", "listed", "--subject", "s3")["tokens"]
        self.assertEqual((only["token_id"], only["subjects"]), ("t3", ["s3"]))
        self.assertIn("1 token of", self.expunge("tokens", "listed", "--subject", "s3").stdout)

    def test_delete_validates_deletes_certifies_and_repeats(self):
        self.filled("shrinking")
        before = self.state("shrinking")
        validated = self.answer("delete", "shrinking", "--token", "t1", "t2", "--validate-only")
        self.assertTrue(validated["validated_only"])
        self.assertEqual(self.state("shrinking"), before)
        arguments = ["delete", "shrinking", "--token", "t1", "t2", "--legal-basis", "GDPR Art. 17(1)(b)", "--request-id",
                     "once"]
        first = self.answer(*arguments, "--out", self.path("first.json"))
        again = self.answer(*arguments, "--out", self.path("again.json"))
        self.assertEqual(first["deleted"], 2)
        self.assertEqual(first["certificate"]["kind"], "DELETION")
        self.assertEqual({**first, "saved_to": None}, {**again, "saved_to": None})
        self.assertEqual(self.read("first.json"), self.read("again.json"))
        self.assertEqual(self.state("shrinking")["token_count"], 3)
        error = self.error("delete", "shrinking", "--token", "t3", "--request-id", "once", code=1)
        self.assertEqual(error["reason"], "REQUEST_ID_REUSED")

    def test_deleted_equals_never_added(self):
        self.filled("long", rows=9)
        self.filled("short", rows=8)
        self.assertNotEqual(self.state("long")["fingerprint"], self.state("short")["fingerprint"])
        self.answer("delete", "long", "--token", "t9")
        self.assertEqual(self.state("long")["fingerprint"], self.state("short")["fingerprint"])

    def test_purge_reaches_every_memory_of_the_tenant(self):
        for memory in ("here", "there"):
            path = self.write(f"{memory}.csv", "x,v,who\n1,1,purge-me\n2,2,other\n")
            self.create(memory, keys=1)
            self.answer("import", memory, "--csv", path, "--key-columns", "x", "--value-columns", "v", "--subject-columns", "who")
        answer = self.answer("purge", "--subject", "purge-me", "--out-dir", self.path("certificates"))
        self.assertEqual(answer["deleted"], 2)
        self.assertEqual([one["memory"].split("/")[-1] for one in answer["certificates"]], ["here", "there"])
        self.answer("cert", "keys", "--out", self.path("key.pem"))
        files = [one["saved_to"] for one in answer["certificates"]]
        verdict = self.answer("cert", "verify", *files, "--key", self.path("key.pem"))
        self.assertTrue(verdict["verified"])
        self.assertEqual([one["reason"] for one in verdict["certificates"]], ["OK", "OK"])

    def test_certificates_are_fetched_byte_for_byte_listed_and_shown(self):
        self.filled("certified")
        made = self.answer("certify", "certified", "--nonce", "00FF", "--out", self.path("state.json"))
        name = made["certificate"]["name"]
        envelope = self.read("state.json")
        self.answer("cert", "get", name, "--out", self.path("fetched.json"))
        self.assertEqual(self.read("fetched.json"), envelope)
        self.assertEqual(self.expunge("cert", "get", name.split("/")[-1]).stdout.encode(), envelope)
        self.assertEqual(base64.b64decode(self.answer("cert", "get", name)["envelope_base64"]), envelope)
        listed = self.answer("cert", "list", "--memory", "certified", "--kind", "STATE")["certificates"]
        self.assertEqual([one["name"] for one in listed], [name])
        self.assertEqual(self.answer("cert", "list", "--memory", "certified", "--kind", "PURGE")["certificates"], [])
        shown = self.answer("cert", "show", name)
        self.assertEqual(shown["key_from"], "service")
        self.assertIn("00ff", json.dumps(shown["statement"]))
        self.answer("cert", "keys", "--out", self.path("shown.pem"))
        text = self.expunge("cert", "show", "--file", self.path("state.json"), "--key", self.path("shown.pem")).stdout
        self.assertIn("CERTIFICATE", text)
        self.assertIn("the key you named", text)

    def test_the_two_verifiers_agree(self):
        self.filled("twice")
        self.answer("certify", "twice", "--out", self.path("twice.json"))
        self.answer("cert", "keys", "--out", self.path("twice.pem"))
        self.assertIn("VERIFIED (OK)", self.expunge("cert", "verify", self.path("twice.json"), "--key", self.path("twice.pem")).stdout)
        self.run_program(binary("expunge-verify"), "--key", self.path("twice.pem"), self.path("twice.json"), code=0)

    def test_output_that_cannot_be_written_is_told(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([binary("expunge"), "--server", self.server.address, "memory", "list"], stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot write to standard output", done.stderr)

    def test_a_memory_is_deleted_with_a_certificate(self):
        self.filled("doomed")
        self.assertTrue(self.answer("memory", "delete", "doomed", "--validate-only")["validated_only"])
        answer = self.answer("memory", "delete", "doomed", "--out", self.path("doomed.json"))
        self.assertEqual(answer["certificate"]["kind"], "MEMORY_DELETION")
        self.assertTrue(stat.S_ISREG(os.stat(self.path("doomed.json")).st_mode))
        self.assertEqual(self.error("memory", "get", "doomed", code=1)["reason"], "MEMORY_UNKNOWN")


if __name__ == "__main__":
    main()
