"""Go's golang.org/x/mod/sumdb accepts what certificate/log makes, and nothing altered.

Skipped, with status 77, only where Go or that package is not installed (Debian: golang-go,
golang-golang-x-mod-dev).
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent / "sumdb" / "check.go"
GO_PATH = pathlib.Path("/usr/share/gocode")
SKIP = 77
PROOFS = 130 * 131 // 2


def main() -> int:
    go = shutil.which("go")
    if go is None or not (GO_PATH / "src/golang.org/x/mod/sumdb/tlog").is_dir():
        print("SKIPPED: Go with golang.org/x/mod is not installed")
        return SKIP
    binaries = pathlib.Path(os.environ["EXPUNGE_BIN"])
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([binaries / "write_log_vectors", folder], check=True)
        # Without modules, nothing is looked for beyond what Debian installed.
        environment = {
            **os.environ,
            "GO111MODULE": "off",
            "GOFLAGS": "",
            "GOPATH": str(GO_PATH),
            "GOCACHE": str(binaries.parent / "go-cache"),
        }
        check = pathlib.Path(folder) / "check"
        subprocess.run([go, "build", "-o", check, SOURCE], check=True, env=environment, cwd=folder)
        result = subprocess.run([check, folder], check=False, capture_output=True, text=True)
    print(result.stdout, result.stderr, sep="")
    # That every part ran is part of the claim.
    lines = [
        f"inclusion: {PROOFS} proofs",
        f"consistency: {PROOFS} proofs",
        "checkpoints: 4",
        "paths: 36",
        "tiles: 513 entries",
        "tiles: 700 entries",
    ]
    return 0 if result.returncode == 0 and result.stdout.splitlines() == lines else 1


if __name__ == "__main__":
    sys.exit(main())
