"""An auditor at the command line: lists and watches certificates, exports bundles and proofs, writes reports."""

import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import threading
import unittest
import xml.etree.ElementTree as ElementTree

from harness import ServerTest, binary, main

HOSTILE = "<script>alert('x')</script> & \"]]>\" &amp; <!--"


class AuditTest(ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        self = cls("test_lists_are_narrowed")
        self.filled("cells", rows=40)
        self.answer("certify", "cells", "--nonce", "00ff", "--out", self.path("1.json"))
        self.answer("delete", "cells", "--token", "t2", "t3", "--legal-basis", HOSTILE, "--out", self.path("2.json"))
        self.answer("purge", "--subject", "s7", "--legal-basis", "GDPR Art. 17(1)(b)")
        self.answer("cert", "keys", "--out", self.path("key.pem"))

    def names(self, *filters):
        listed = self.answer("cert", "list", *filters)["certificates"]
        return [int(one["name"].rsplit("/", 1)[1]) for one in listed]

    def test_lists_are_narrowed(self):
        self.assertEqual(self.names(), [1, 2, 3])
        self.assertEqual(self.names("--kind", "PURGE"), [3])
        self.assertEqual(self.names("--stage", "KEY_DESTROYED"), [2, 3])
        self.assertEqual(self.names("--since", "2020-01-01", "--until", "2021-01-01T00:00:00Z"), [])
        self.assertEqual(self.names("--since", "2020-01-01"), [1, 2, 3])
        receipts = [json.loads(line) for line in self.read("cells.receipts").splitlines()]
        of_t2 = next(one for one in receipts if one["token"].endswith("/t2"))
        self.assertEqual(self.names("--commitment", of_t2["commitment"]), [2])
        self.assertEqual(self.names("--receipts", self.path("cells.receipts")), [2, 3])

    def test_wrong_filters_say_which(self):
        for filters, words in ((["--since", "yesterday"], "--since"), (["--commitment", "12"], "--commitment"),
                               (["--receipts", self.path("key.pem")], "line 1"), (["--stage", "GONE"], "--stage")):
            self.assertIn(words, self.error("cert", "list", *filters, code=2)["message"])

    def test_a_certificate_and_its_proof_are_saved_together(self):
        answer = self.answer("cert", "get", "000000000002", "--out", self.path("again.json"))
        self.assertEqual(self.read("again.json"), self.read("2.json"))
        self.assertEqual(answer["proof_saved_to"], self.path("again.tlog-proof"))
        proof = self.read("again.tlog-proof").decode()
        self.assertTrue(proof.startswith("c2sp.org/tlog-proof@v1\n"))
        proven = self.answer("log", "proof", "000000000002", "--old-size", "1", "--out", self.path("p.tlog-proof"))
        self.assertEqual(self.read("p.tlog-proof").decode(), proven["log_proof"])
        self.assertTrue(proven["log_proof"].endswith(proven["checkpoint"]))
        self.assertEqual(len(proven["leaf"]), 256)

    def test_all_certificates_of_a_folder_verify(self):
        folder = self.path("all")
        exported = self.answer("cert", "export", folder)
        self.assertEqual(len(exported["certificates"]), 3)
        self.assertEqual(sorted(os.listdir(folder)),
                         sorted(f"00000000000{i}.{kind}" for i in (1, 2, 3) for kind in ("json", "tlog-proof")))
        self.run_program(binary("expunge-verify"), "--key", self.path("key.pem"), folder, code=0)

    def test_a_watch_shows_the_old_and_then_the_new(self):
        lines = self.expunge("cert", "watch", "--count", "3", "--out-dir", self.path("watched")).stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines], [f"00000000000{i}" for i in (1, 2, 3)])
        self.assertEqual(len(os.listdir(self.path("watched"))), 6)
        other = ["--tenant", "watched"]  # so that the other tests' lists stay
        self.answer(*other, "memory", "create", "m", "--key-dimension", "2", "--value-dimension", "1", "--gamma", "0.5",
                    "--min-support", "3")
        command = [binary("expunge"), "--server", self.server.address, *other, "--output", "json", "cert", "watch",
                   "--count", "2"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watcher:
            seen = []
            reader = threading.Thread(target=lambda: seen.extend(watcher.stdout))
            reader.start()
            self.answer(*other, "certify", "m")
            self.answer(*other, "certify", "m")
            reader.join(60)
            self.assertEqual(watcher.wait(60), 0)
        self.assertEqual([json.loads(line)["kind"] for line in seen], ["STATE", "STATE"])
        last = json.loads(seen[0])["name"]
        done = self.expunge(*other, "--output", "json", "cert", "watch", "--after", last, "--count", "1")
        self.assertEqual(json.loads(done.stdout)["name"], json.loads(seen[1])["name"])
        self.assertEqual(self.error("cert", "watch", "--after", "999", code=1)["reason"], "CERTIFICATE_UNKNOWN")
        # Its time is over.
        self.assertEqual(self.error("--timeout", "0.3", "cert", "watch", "--kind", "PURGE", "--after", "000000000003",
                                    code=3)["code"], "DEADLINE_EXCEEDED")

    def test_a_bundle_is_saved_whole_and_private(self):
        state = self.state("cells")["state"]
        answer = self.answer("audit", "export", "cells", "--out", self.path("cells.bundle"), "--state-digest",
                             state["digest"], "--epoch", str(state["epoch"]))
        bundle = self.read("cells.bundle")
        self.assertEqual(len(bundle), answer["bytes"])
        self.assertEqual(os.stat(self.path("cells.bundle")).st_mode & 0o777, 0o600)
        *lines, trailer = [json.loads(line) for line in bundle.splitlines()]
        start = bundle.rindex(b'{"sha256"')
        self.assertEqual(trailer, {"sha256": hashlib.sha256(bundle[:start]).hexdigest(), "tokens": str(len(lines) - 1)})
        self.assertEqual(lines[0]["stateDigest"], state["digest"])
        progress = self.expunge("audit", "export", "cells", "--out", self.path("cells.bundle"), "--progress", "always")
        self.assertIn("exporting", progress.stderr)

    def test_no_bundle_leaves_no_file(self):
        out = self.path("none.bundle")
        self.assertEqual(self.error("audit", "export", "cells", "--out", out, "--epoch", "0", code=1)["reason"],
                         "STATE_CHANGED")
        self.assertEqual(self.error("audit", "export", "nope", "--out", out, code=1)["reason"], "MEMORY_UNKNOWN")
        self.error("audit", "export", "cells", "--out", out, "--state-digest", "xy", code=2)
        self.error("audit", "export", "cells", "--out", self.path("no/where"), code=2)
        self.assertEqual([name for name in os.listdir(self.directory) if name.startswith("none.bundle")], [])

    def test_wrong_questions_about_the_log(self):
        self.assertEqual(self.error("log", "proof", "--index", "99999", code=1)["field"], "leaf_index")
        self.assertEqual(self.error("log", "proof", "--old-size", "99999", code=1)["field"], "old_size")
        self.error("log", "proof", "000000000001", "--index", "1", code=2)
        self.error("log", "proof", "--out", self.path("what"), code=2)

    def test_show_says_what_was_checked_and_where_it_is_in_the_log(self):
        shown = self.answer("cert", "show", "000000000002")
        self.assertEqual(shown["claims"]["log"]["verdict"], "OK")
        self.assertIn("leaf ", shown["log_place"])
        self.assertIsNone(shown["completed_by"])
        text = self.expunge("cert", "show", "--file", self.path("2.json"), "--key", self.path("key.pem")).stdout
        self.assertIn("Verified now", text)

    # Reports.

    def report(self, name, *certificates, code=0, options=()):
        self.expunge("cert", "report", self.path(name), *map(self.path, certificates), "--key", self.path("key.pem"),
                     *options, code=code)
        page = self.read(name).decode()
        return page, ElementTree.fromstring(page.split("\n", 1)[1])  # without the document type

    def test_a_report_is_one_whole_page_of_its_own(self):
        page, root = self.report("report.html", "2.json", "1.json")
        self.assertNotIn("<script", page)
        self.assertNotRegex(page, r"(src|href)=")
        self.assertNotIn("url(", page)
        self.assertNotIn("@import", page)
        text = " ".join("".join(root.itertext()).split())
        self.assertIn("Verified: 2 of 2 certificates", text)
        for file in ("2.json", "1.json"):
            statement = json.loads(self.expunge("--output", "json", "cert", "show", "--file", self.path(file), "--key",
                                                self.path("key.pem")).stdout)["statement"]["predicate"]
            for number in (statement["after"]["stateDigest"], statement["after"]["tokenRoot"],
                           statement["memory"]["memory"], statement["issuer"]["configurationSha256"]):
                self.assertIn(number, text)
            for sentence in statement["notClaimed"]:
                self.assertIn(sentence, text)
            for token in statement.get("removed", []):
                self.assertIn(token["commitment"], text)
        self.assertIn("leaf", text.lower())

    def test_the_plot_has_every_number(self):
        _, root = self.report("plot.html", "2.json")
        statement = self.answer("cert", "show", "--file", self.path("2.json"))["statement"]["predicate"]
        space = "{http://www.w3.org/1999/xhtml}"
        rows = [[cell.text for cell in row.iter(f"{space}td")]
                for table in root.iter(f"{space}table") if table.get("class") == "counts"
                for row in table.iter(f"{space}tr")][1:]
        names = {"S": "margin", "E": "error", "R": "reserve"}
        removed = [names[token["classBefore"]] for token in statement["removed"]]
        expected = [[statement["before"]["partition"][name], str(removed.count(name)), statement["after"]["partition"][name]]
                    for name in ("margin", "error", "reserve")]
        expected.append([statement["before"]["tokenCount"], str(len(removed)), statement["after"]["tokenCount"]])
        self.assertEqual(rows, expected)
        [svg] = root.iter("{http://www.w3.org/2000/svg}svg")
        widths = [float(bar.get("width")) for bar in svg.iter("{http://www.w3.org/2000/svg}rect")]
        self.assertTrue(all(0 < width <= 544.01 for width in widths), widths)
        self.assertEqual(svg.get("role"), "img")
        self.assertIn("margin", svg.get("aria-label"))

    def test_a_hostile_legal_basis_is_a_text(self):
        page, root = self.report("hostile.html", "2.json")
        self.assertIn(html.escape("<script>alert("), page)
        self.assertIn(HOSTILE, "".join(root.itertext()))
        self.assertEqual([one for one in root.iter() if one.tag.endswith("script")], [])

    def test_a_report_of_an_altered_certificate_says_so_and_shows_nothing_of_it(self):
        altered = bytearray(self.read("2.json"))
        altered[50] ^= 1
        self.write("altered.json", bytes(altered))
        page, _ = self.report("altered.html", "altered.json", code=1)
        self.assertIn("do not rely on this certificate", page)
        self.assertNotIn("The memory before and after", page)

    def test_the_commands_of_a_report_work(self):
        page, root = self.report("commands.html", "1.json")
        blocks = ["".join(block.itertext()) for block in root.iter("{http://www.w3.org/1999/xhtml}pre")]
        [own] = [block for block in blocks if block.startswith("expunge-verify ")]
        self.assertEqual(subprocess.run(own.replace("expunge-verify", binary("expunge-verify"), 1), shell=True, check=False,
                                        capture_output=True).returncode, 0)
        [openssl] = [block for block in blocks if "pkeyutl" in block]
        folder = self.path("openssl")
        os.mkdir(folder)
        done = subprocess.run(openssl, shell=True, cwd=folder, check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Signature Verified Successfully", done.stdout)

    def test_a_report_is_printed_to_pdf(self):
        if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))):
            self.skipTest("no Chromium to print with")
        self.report("printed.html", "2.json", options=("--pdf",))
        self.assertTrue(self.read("printed.pdf").startswith(b"%PDF"))

    def test_without_chromium_the_error_says_what_to_do(self):
        done = self.expunge("cert", "report", self.path("x.html"), self.path("1.json"), "--key", self.path("key.pem"), "--pdf",
                            code=2, env={"EXPUNGE_CHROMIUM": "/does/not/exist"})
        self.assertIn("Chromium", done.stderr)
        self.assertTrue(re.search(r"install|print", done.stderr))
        self.assertTrue(self.read("x.html"), "the page itself is there")


if __name__ == "__main__":
    main()
