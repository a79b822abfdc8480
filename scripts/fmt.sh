#!/usr/bin/env bash
# Formats all C++ in place.
#
# Usage: ./dev fmt
#
# clang-format 14 over every .h and .cc that git knows or would add, with the rules of .clang-format.
source scripts/lib.sh

[[ $# -eq 0 ]] || usage_error "./dev fmt takes no arguments"
need_packages lint
git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cc' |
  xargs -0 --no-run-if-empty -n 8 -P "$jobs" clang-format-14 -i
git status --short -- '*.h' '*.cc'
