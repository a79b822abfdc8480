"""The example data, made again from Debian's own file. Skipped, visibly, where python3-sklearn is not installed."""

import os
import sys

from harness import EXAMPLES, WISCONSIN

sys.path.insert(0, EXAMPLES)
import wisconsin  # noqa: E402  (the script under test)

SOURCE = "/usr/lib/python3/dist-packages/sklearn/datasets/data/breast_cancer.csv"
SKIPPED = 77  # ctest reports this exit code as "Skipped"


def main():
    if not os.path.exists(SOURCE):
        print(f"skipped: {SOURCE} is not there (Debian package python3-sklearn)")
        return SKIPPED
    same = wisconsin.derive(wisconsin.read(SOURCE)) == wisconsin.read(WISCONSIN)
    print("wisconsin.csv is what Debian's file gives" if same else "wisconsin.csv differs from what Debian's file gives")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
