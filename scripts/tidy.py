"""Runs clang-tidy over every tracked .cc file, in parallel, and skips files that passed before.

A file counts as passed under a key: SHA-256 of its own text, of every header of the project that it reaches
(generated ones, too), of its compile command, of the rules, and of the versions of clang-tidy and of the
Debian packages that it builds with. Keys of files that passed are empty files in the user's cache folder,
beside ccache's, so that every checkout on a machine knows them.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

TIDY = "clang-tidy-14"
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True).stdout


def tracked(pattern):
    names = output_of("git", "ls-files", "-z", "--", pattern).decode().split("\0")
    return [pathlib.Path(name) for name in names if name and pathlib.Path(name).exists()]


def tool_versions():
    lines = pathlib.Path("scripts/debian-packages.txt").read_text().splitlines()
    packages = sorted({line.split()[1] for line in lines if line and not line.startswith("#")})
    found = subprocess.run(["dpkg-query", "-W", *packages], check=False, capture_output=True).stdout
    return output_of(TIDY, "--version") + found


def reached_files(source, generated):
    """`source` and all files of the project that it includes, directly or not."""
    seen, stack = set(), [source]
    while stack:
        path = stack.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in INCLUDE.findall(path.read_bytes()):
            for folder in (pathlib.Path("."), path.parent, generated):
                candidate = folder / name.decode()
                if candidate.exists():
                    stack.append(candidate)
                    break
    return sorted(seen)


def key_of(source, command, generated, common):
    key = hashlib.sha256(common)
    for path in reached_files(source, generated):
        key.update(str(path).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    key.update(command.encode())
    return key.hexdigest()


def analyse(source, build):
    begin = time.monotonic()
    done = subprocess.run([TIDY, "-p", str(build), "--quiet", str(source)], check=False, capture_output=True, text=True)
    return done.returncode == 0, done.stdout or done.stderr, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build folder with compile_commands.json")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    root = pathlib.Path.cwd()
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    passed = cache / "expunge" / "tidy-passed"
    passed.mkdir(parents=True, exist_ok=True)

    commands = {}
    for entry in json.loads((arguments.build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if path.is_relative_to(root):
            commands[path.relative_to(root)] = entry["command"].replace(f"{root}/", "")
    sources = tracked("*.cc")
    failures = 0
    for source in [s for s in sources if s not in commands]:
        print(f"{source}: no target builds it")
        failures += 1

    common = tool_versions() + b"".join(path.read_bytes() for path in tracked("*.clang-tidy"))
    generated = arguments.build / "generated"
    keys = {s: key_of(s, commands[s], generated, common) for s in sources if s in commands}
    waiting = [s for s in keys if not (passed / keys[s]).exists()]
    print(f"{len(keys)} files, {len(keys) - len(waiting)} unchanged since they passed, {len(waiting)} to analyse")

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        running = {pool.submit(analyse, source, arguments.build): source for source in waiting}
        for count, future in enumerate(concurrent.futures.as_completed(running), start=1):
            source, (clean, text, seconds) = running[future], future.result()
            print(f"[{count}/{len(waiting)}] {source}  {seconds:.0f} s{'' if clean else '  FAILED'}", flush=True)
            if clean:
                (passed / keys[source]).touch()
            else:
                print(text, flush=True)
                failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
