"""With RocksDB's compression on, a search of files sees nothing in tables. So they are read by another program, RocksDB's own
tools; and after a byte erasure a deleted token is not in what they show, whether records are sealed or not."""

import glob
import os
import re
import shutil
import subprocess

from fault import FaultServer, FaultTest, binary, main, search_files, skip_whole_file
from harness import TIMEOUT_S, run
from test_canary import KEY, VALUE, canary_forms

ID, SUBJECT = "canary-id-7f3a9c51e8", "canary-subject-b20d64"


def printed(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False)
    return done.stdout


def views(records):
    """{name: what RocksDB's tools show of a file, and the bytes that they show in hexadecimal}, and the tables' compression."""
    shown, compressions = {}, set()
    commands = {
        "*.sst": lambda path: ("sst_dump", f"--file={path}", "--command=scan", "--output_hex"),
        "*.log": lambda path: ("ldb", "dump_wal", f"--walfile={path}", "--header", "--print_value"),
        "MANIFEST-*": lambda path: ("ldb", "manifest_dump", "--verbose", "--hex", f"--path={path}"),
    }
    for pattern, command in commands.items():
        for path in glob.glob(os.path.join(records, pattern)):
            text = printed(*command(path))
            raw = b"\n".join(bytes.fromhex(digits[:len(digits) & ~1].decode())
                             for digits in re.findall(rb"(?:0x|'|=> )([0-9A-Fa-f]{8,})", text))
            shown[os.path.basename(path)] = text + b"\n" + raw
    for path in glob.glob(os.path.join(records, "*.sst")):
        text = printed("sst_dump", f"--file={path}", "--show_properties").decode(errors="replace")
        compressions |= set(re.findall(r"SST file compression algo: (\w+)", text))
    return shown, compressions


class CompressionTest(FaultTest):
    def start(self, *mutations):
        directory = self.path("-".join(mutations))
        os.mkdir(directory)
        type(self).server = FaultServer(directory, "--erase-bytes-within", "1s")
        self.addCleanup(self.server.end)
        self.server.start({"EXPUNGE_MUTATION": ",".join(mutations)})

    def restart(self, *mutations):
        self.assertEqual(self.server.stop(), 0)
        self.server.start({"EXPUNGE_MUTATION": ",".join(mutations)})

    def found(self, forms):
        """The forms that are in a file, and those that a tool shows. The running server may remove files meanwhile."""
        copy = self.path("copy")
        while True:
            shutil.rmtree(copy, ignore_errors=True)
            try:
                shutil.copytree(os.path.join(self.server.data, "db", "records"), copy)
                break
            except shutil.Error:
                continue
        shown, compressions = views(copy)
        self.assertGreater(len(shown), 2)
        in_views = {form for text in shown.values() for form, needle in forms.items() if needle in text}
        in_files = {form for _, form in search_files(forms, self.server.data, self.server.log)[0]}
        shutil.rmtree(copy)
        return in_files, in_views, compressions

    def fill(self):
        self.create("birds", keys=len(KEY), values=len(VALUE))
        tokens = [(f"token-with-a-long-name-{i:04}", "the-same-subject-for-all", [i / 7, i * i % 5, -i / 3, 1.5], [1.0, 1.0])
                  for i in range(40)]
        self.add("birds", [*tokens, (ID, SUBJECT, KEY, VALUE)])

    def erase(self, count):
        self.answer("delete", "birds", "--token", ID)
        self.wait_for_purged(1)
        self.assertEqual(self.answer("memory", "get", "birds")["token_count"], count)

    def test_sealed_and_compressed_nothing_is_found_at_any_time(self):
        mutations = ("no_compression",)
        self.start(*mutations)
        self.fill()
        self.restart(*mutations)  # moves the log into tables
        in_files, in_views, compressions = self.found(canary_forms())
        self.assertEqual((in_files, in_views), (set(), set()))
        self.assertEqual(compressions, {"ZSTD"})
        self.erase(40)
        in_files, in_views, _ = self.found(canary_forms())
        self.assertEqual((in_files, in_views), (set(), set()))

    def test_unsealed_and_compressed_the_tools_show_the_token_until_its_bytes_are_erased(self):
        mutations = ("no_compression", "seal")
        forms = canary_forms()
        self.start(*mutations)
        self.fill()
        in_files, in_views, _ = self.found(forms)
        self.assertIn("id raw", in_files, "the log is not compressed")
        self.assertIn("id raw", in_views)
        self.restart(*mutations)
        in_files, in_views, compressions = self.found(forms)
        self.assertEqual(compressions, {"ZSTD"})
        for form in ("id raw", "subject raw", "key f64-le raw", "value f64-le raw"):
            self.assertIn(form, in_views, "the control: a tool shows what is in a compressed table")
        print(f"before: files show {len(in_files)} forms, the tools {len(in_views)}, of {len(forms)}")
        self.erase(40)
        in_files, in_views, compressions = self.found(forms)
        self.assertEqual((in_files, in_views), (set(), set()))
        self.assertEqual(compressions, {"ZSTD"})
        self.restart(*mutations)
        in_files, in_views, _ = self.found(forms)
        self.assertEqual((in_files, in_views), (set(), set()))


if __name__ == "__main__":
    if shutil.which("sst_dump") is None or shutil.which("ldb") is None:
        skip_whole_file("sst_dump and ldb are not installed (package rocksdb-tools)")
    if "fault points" not in run(binary("expunged"), "--version").stdout:
        skip_whole_file("expunged is built without fault points: it never compresses")
    main()
