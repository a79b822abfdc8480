#!/usr/bin/env python3
"""How long an exact search for the M nearest of n tokens takes, by faiss's flat index: what a program would do
that looks the important tokens up for every query.

Usage: flat_index.py FILE. Writes {"faiss": version, "searches": [{"support": M, "dimension": d, "queries": Q,
"us": median microseconds a query}, ...]}. One thread, n = 10,000, standard normal keys.
"""

import json
import statistics
import sys
import time

import faiss
import numpy

N = 10_000
ROUNDS = 5


def measure(index, queries, support):
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        index.search(queries, support)
        times.append((time.perf_counter() - begin) * 1e6 / len(queries))
    return statistics.median(times)


def show(done):
    """On a terminal, over itself."""
    if sys.stderr.isatty():
        print(f"\rsearching with faiss {done}/18", end="\n" if done == 18 else "", file=sys.stderr, flush=True)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if sys.argv[1:] in (["--help"], ["-h"]) else 2
    faiss.omp_set_num_threads(1)
    random = numpy.random.default_rng(1)
    searches = []
    for dimension in (64, 128):
        index = faiss.IndexFlatL2(dimension)
        index.add(random.standard_normal((N, dimension), dtype=numpy.float32))
        for queries in (1, 64, 1024):
            rows = random.standard_normal((queries, dimension), dtype=numpy.float32)
            for support in (14, 100, 1000):
                searches.append({"support": support, "dimension": dimension, "queries": queries,
                                 "us": measure(index, rows, support)})
                show(len(searches))
    with open(sys.argv[1], "w", encoding="ascii") as out:
        json.dump({"faiss": faiss.__version__, "searches": searches}, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
