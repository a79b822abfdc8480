#!/usr/bin/env bash
# Builds the benchmarks with full optimisation and runs them.
#
# Usage: ./dev bench [NAME...] [OPTION...]
#
# NAME, by default all, each about a minute or less:
#   solver       the time of a solve from nothing
#   exactness    deletes, and compares every bit with memories that never held what was deleted; beside it the figures
#                of the paper. Fails unless all bits are equal. Writes out/exactness.json
#   readout      the time of a readout
#   certificate  the time of sealing and of verifying
#
# Options of exactness:
#   --trials N   trials a regime (300: seconds); insertion orders and streams are scaled likewise. 1000000 takes an hour
#   --data FILE  intensive-care stays as CSV; default $EXPUNGE_DATA/icu_vitals.csv, or beside the repository. Without
#                the file that regime is skipped, visibly
#   --only R, --seed N, --first N, --cases N, --threads N, --out FILE: one regime, other data, some cases, ...
#
# Options --benchmark_*, such as --benchmark_filter=R, go to the others, which are Google Benchmark programs: each
# prints a table and writes out/bench/NAME.json with the machine's facts and the commit. Compare only runs of one
# machine that did nothing else.
source scripts/lib.sh

google_benchmarks=(solver readout certificate)
own_programs=(exactness)

# contains WORD LIST...
contains() {
  local word=$1 item
  shift
  for item in "$@"; do [[ $item == "$word" ]] && return 0; done
  return 1
}

names=()
google_options=()
own_options=()
for argument in "$@"; do
  if contains "$argument" "${google_benchmarks[@]}" "${own_programs[@]}"; then
    names+=("$argument")
  elif [[ $argument == --benchmark_* ]]; then
    google_options+=("$argument")
  elif [[ $argument == -* || ${#own_options[@]} -gt 0 ]]; then
    own_options+=("$argument") # an option, or the value of one
  else
    usage_error "no benchmark '$argument'; ./dev bench --help"
  fi
done
[[ ${#names[@]} -gt 0 ]] || names=(solver exactness readout certificate)
if [[ ${#own_options[@]} -gt 0 ]] && ! contains exactness "${names[@]}"; then
  usage_error "only exactness has the option '${own_options[0]}'; ./dev bench --help"
fi

need_packages build bench
configure release
build_targets release "${names[@]/%/_bench}"
mkdir -p out/bench
commit=$(git describe --always --dirty)
for name in "${names[@]}"; do
  if contains "$name" "${own_programs[@]}"; then
    step "Benchmark $name" "build/release/bin/${name}_bench" "${own_options[@]}"
  else
    step "Benchmark $name" "build/release/bin/${name}_bench" --benchmark_context=commit="$commit" \
      --benchmark_out="out/bench/$name.json" --benchmark_out_format=json "${google_options[@]}"
    echo "Results: out/bench/$name.json"
  fi
done
