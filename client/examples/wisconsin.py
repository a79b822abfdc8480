#!/usr/bin/env python3
"""Makes wisconsin.csv from the file breast_cancer.csv of Debian's python3-sklearn, and checks it.

  wisconsin.py make SOURCE TARGET   derives TARGET from SOURCE
  wisconsin.py check TARGET         undoes the derivation and compares the SHA-256 with that of the source: needs no
                                    other file, and shows that nothing was lost or changed

The derivation, row by row and in the order of the source: the number k of the row gives `token` = fna-k and
`patient` = patient-k (three digits); the last cell, 0 or 1, gives `diagnosis` = malignant or benign; the 30 cells before
it follow as the same text, under the names of the README. The source's first line (counts and class names) goes.
"""

import hashlib
import sys

SOURCE_SHA256 = "fed3eb72d0575ef6192293f5093c6e801b1476b577d0386bf4455504522172ed"
FIRST_LINE = "569,30,malignant,benign"
DIAGNOSES = ("malignant", "benign")  # the meaning of 0 and 1 in the source
MEASURES = ("radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "concave points",
            "symmetry", "fractal dimension")
COLUMNS = ["token", "patient", "diagnosis"] + [f"{kind} {measure}" for kind in ("mean", "error", "worst")
                                               for measure in MEASURES]


def derive(source: str) -> str:
    lines = source.splitlines()
    if lines[0] != FIRST_LINE:
        raise ValueError(f"the first line is not {FIRST_LINE}")
    rows = [",".join(COLUMNS)]
    for number, line in enumerate(lines[1:], start=1):
        *measurements, target = line.split(",")
        if len(measurements) != 30 or target not in ("0", "1"):
            raise ValueError(f"row {number} does not have 30 measurements and a class")
        rows.append(",".join([f"fna-{number:03d}", f"patient-{number:03d}", DIAGNOSES[int(target)]] + measurements))
    return "\n".join(rows) + "\n"


def undo(derived: str) -> str:
    header, *lines = derived.splitlines()
    if header != ",".join(COLUMNS):
        raise ValueError("the columns are not those of the README")
    rows = [FIRST_LINE]
    for line in lines:
        _, _, diagnosis, *measurements = line.split(",")
        rows.append(",".join(measurements + [str(DIAGNOSES.index(diagnosis))]))
    return "\n".join(rows) + "\n"


def read(path: str) -> str:
    with open(path, encoding="ascii", newline="") as file:
        return file.read()


def check(path: str) -> bool:
    """Whether `path` is exactly what `derive` makes of the source with the pinned SHA-256."""
    derived = read(path)
    source = undo(derived)
    return hashlib.sha256(source.encode()).hexdigest() == SOURCE_SHA256 and derive(source) == derived


def main(arguments: list) -> int:
    if len(arguments) == 3 and arguments[0] == "make":
        derived = derive(read(arguments[1]))
        with open(arguments[2], "w", encoding="ascii", newline="") as file:
            file.write(derived)
        return 0
    if len(arguments) == 2 and arguments[0] == "check":
        ok = check(arguments[1])
        print(f"{arguments[1]}: {'derived from the source, nothing changed' if ok else 'NOT what the source gives'}")
        return 0 if ok else 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
