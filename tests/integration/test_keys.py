"""Keys by command: listed, exported, rotated; and time-stamps of a checkpoint by an authority that OpenSSL plays."""

import base64
import hashlib
import http.server
import json
import os
import subprocess
import threading

from harness import ServerTest, binary, main, run


def openssl(*arguments, data=None, cwd=None):
    return subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=True, cwd=cwd,
                          env={**os.environ, "TSA_DIRECTORY": "."}).stdout


class KeysTest(ServerTest):
    def admin(self, *arguments, **options):
        return self.expunge("--admin", f"unix:{self.server.data}/admin.sock", *arguments, **options)

    def listed(self, use=None, active=None):
        keys = self.answer("keys", "list")["keys"]
        return [key for key in keys if (use is None or key["use"] == use)
                and (active is None or (key["not_after"] is None) == active)]

    def export(self, name, *options):
        os.makedirs(self.path(name), exist_ok=True)
        return self.answer("keys", "export", self.path(name), *options)

    def verify_with_openssl(self, envelope, pem):
        """As docs/formats/certificate.md says."""
        payload = base64.b64decode(envelope["payload"])
        pae = b"DSSEv1 28 application/vnd.in-toto+json %d %s" % (len(payload), payload)
        self.write("pae", pae)
        self.write("sig", base64.b64decode(envelope["signatures"][0]["sig"]))
        openssl("pkeyutl", "-verify", "-pubin", "-inkey", pem, "-rawin", "-in", self.path("pae"), "-sigfile",
                self.path("sig"))
        return json.loads(payload)

    def test_rotated_keys_leave_certificates_that_verify_from_any_of_them(self):
        self.filled("held")
        self.expunge("certify", "held", "--out", self.path("first.json"))
        self.expunge("cert", "keys", "--out", self.path("first.pem"))
        for use in ("certificate", "checkpoint", "certificate"):
            [before] = self.listed(use, active=True)
            text = self.admin("keys", "rotate", "--use", use).stdout
            self.assertIn(before["key_id"], text)
            [after] = self.listed(use, active=True)
            self.assertIn(after["key_id"], text)
            self.assertNotEqual(before["key_id"], after["key_id"])
            # The same call again, as after an answer that was lost.
            failed = self.admin("keys", "rotate", "--use", use, "--key-id", before["key_id"], code=1)
            self.assertIn("KEY_NOT_ACTIVE", failed.stderr)
            self.assertEqual(self.listed(use, active=True), [after])
        self.expunge("certify", "held", "--out", self.path("last.json"))

        self.export("audit")
        self.expunge("keys", "export", self.path("audit"), "--key", self.path("first.pem"))
        sets = json.loads(self.read("audit/keys.json"))["keySets"]
        self.assertEqual(len(sets), 1 + 2 + 1 + 2)
        pems = {}
        for key in self.listed():
            pem = self.path(f"audit/{key['use']}-{key['key_id'][:16]}.pem")
            der = openssl("pkey", "-pubin", "-in", pem, "-outform", "DER")
            self.assertEqual(hashlib.sha256(der).hexdigest(), key["key_id"])
            pems[key["key_id"]] = pem
        active = self.listed("certificate")[0]["key_id"]  # the first set is signed by its own
        for number, envelope in enumerate(sets, start=1):
            self.assertEqual(envelope["signatures"][0]["keyid"], active)
            statement = self.verify_with_openssl(envelope, pems[active])
            self.assertEqual(statement["predicate"]["sequence"], str(number))
            [active] = [key["keyId"] for key in statement["predicate"]["keys"]
                        if key["use"] == "certificate" and key["notAfter"] == ""]
        jwks = json.loads(self.read("audit/jwks.json"))["keys"]
        self.assertEqual([key["kid"] for key in jwks], [key["key_id"] for key in self.listed()])

        certificates = [self.path("first.json"), self.path("last.json")]
        for key in self.listed("certificate"):
            # Without the proofs of inclusion not all is checked, so that its exit code is 1.
            done = run(binary("expunge-verify"), "--key", pems[key["key_id"]], "--keys", self.path("audit/keys.json"),
                       "--output", "json", *certificates)
            self.assertIn('"6 key sets in a whole chain', done.stdout)
            self.assertEqual(done.stdout.count("its key was in use at that time"), 2, done.stdout)
            self.assertNotIn('"FAILED"', done.stdout)
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        self.assertEqual(json.loads(self.read("audit/keys.json"))["keySets"], sets)
        self.assertEqual([key["kid"] for key in jwks], [key["key_id"] for key in self.listed()])

    def test_an_export_that_does_not_lead_to_the_given_key_writes_nothing(self):
        openssl("genpkey", "-algorithm", "ed25519", "-out", self.path("stranger.key"))
        openssl("pkey", "-in", self.path("stranger.key"), "-pubout", "-out", self.path("stranger.pem"))
        os.makedirs(self.path("refused"))
        failed = self.expunge("keys", "export", self.path("refused"), "--key", self.path("stranger.pem"), code=1)
        self.assertIn("UNPINNED", failed.stderr)
        self.assertEqual(os.listdir(self.path("refused")), [])

    # ---- Time-stamps ----

    def make_authority(self):
        self.write("tsa.cnf", "[tsa]\ndefault_tsa = here\n[here]\nserial = $ENV::TSA_DIRECTORY/serial\n"
                   "crypto_device = builtin\nsigner_digest = sha256\ndefault_policy = 1.2.3.4.1\n"
                   "digests = sha256\ness_cert_id_alg = sha256\n[stamps]\n"
                   "extendedKeyUsage = critical,timeStamping\nkeyUsage = critical,digitalSignature\n")
        self.write("serial", "01\n")
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=Test CA", "-keyout",
                "ca.key", "-out", "ca.pem", cwd=self.directory)
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Test TSA", "-keyout", "tsa.key", "-out",
                "tsa.csr", cwd=self.directory)
        openssl("x509", "-req", "-in", "tsa.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "1",
                "-extfile", "tsa.cnf", "-extensions", "stamps", "-out", "tsa.pem", cwd=self.directory)

    def serve_authority(self, answer):
        """An HTTP server on the loopback, whose answer to a query is answer(query); its URL."""
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                query = self.rfile.read(int(self.headers["Content-Length"]))
                kind = self.headers["Content-Type"] == "application/timestamp-query"
                body = answer(query) if kind else b""
                self.send_response(200 if body else 503)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}/"

    def stamp(self, query):
        self.write("query", query)
        openssl("ts", "-reply", "-config", "tsa.cnf", "-queryfile", "query", "-signer", "tsa.pem", "-inkey", "tsa.key",
                "-chain", "ca.pem", "-out", "reply", cwd=self.directory)
        return self.read("reply")

    def test_a_checkpoint_is_stamped_over_http_and_checked_without_the_service(self):
        self.make_authority()
        checkpoint = os.path.join(self.server.data, "log", "checkpoint")
        with open(checkpoint, "rb") as file:
            self.write("checkpoint", file.read())
        url, ca = self.serve_authority(self.stamp), self.path("ca.pem")
        made = self.answer("log", "timestamp", self.path("checkpoint"), "--tsa", url, "--tsa-ca", ca)
        self.assertEqual(made["response"], self.path("checkpoint.tsr"))
        seen = self.answer("log", "verify-timestamp", self.path("checkpoint"), "--tsa-ca", ca)
        self.assertEqual(seen["time"], made["time"])
        self.assertIn("Test TSA", seen["authority"])
        openssl("ts", "-verify", "-data", self.path("checkpoint"), "-in", self.path("checkpoint.tsr"), "-CAfile", ca)
        # Of something else; by a CA that nobody trusts; an old answer to a new query; no answer; another place.
        self.write("other", b"another checkpoint")
        failed = self.expunge("log", "verify-timestamp", self.path("other"), "--response",
                              self.path("checkpoint.tsr"), "--tsa-ca", ca, code=1)
        self.assertIn("OTHER_MESSAGE", failed.stderr)
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=Stranger", "-keyout",
                "stranger-ca.key", "-out", "stranger-ca.pem", cwd=self.directory)
        failed = self.expunge("log", "verify-timestamp", self.path("checkpoint"), "--tsa-ca",
                              self.path("stranger-ca.pem"), code=1)
        self.assertIn("UNTRUSTED", failed.stderr)
        old = self.read("checkpoint.tsr")
        os.remove(self.path("checkpoint.tsr"))
        failed = self.expunge("log", "timestamp", self.path("checkpoint"), "--tsa",
                              self.serve_authority(lambda query: old), code=1)
        self.assertIn("OTHER_QUERY", failed.stderr)
        failed = self.expunge("log", "timestamp", self.path("checkpoint"), "--tsa",
                              self.serve_authority(lambda query: b""), code=2)
        self.assertIn("503", failed.stderr)
        failed = self.expunge("log", "timestamp", self.path("checkpoint"), "--tsa",
                              self.serve_authority(lambda query: b"x" * (2 << 20)), code=2)
        self.assertIn("too long", failed.stderr)
        self.expunge("log", "timestamp", self.path("checkpoint"), "--tsa", "ftp://127.0.0.1/", code=2)
        self.assertFalse(os.path.exists(self.path("checkpoint.tsr")))

    def test_a_query_can_be_sent_by_hand(self):
        self.make_authority()
        self.write("by-hand", b"a checkpoint")
        made = self.answer("log", "timestamp", self.path("by-hand"))
        self.assertIsNone(made["response"])
        self.write("by-hand.tsr", self.stamp(self.read("by-hand.tsq")))
        self.expunge("log", "verify-timestamp", self.path("by-hand"), "--tsa-ca", self.path("ca.pem"))


if __name__ == "__main__":
    main()
