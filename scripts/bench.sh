#!/usr/bin/env bash
# Builds the benchmarks with full optimisation and runs them.
#
# Usage: ./dev bench [NAME...] [OPTION...]
#
# NAME, by default all:
#   solver       the time of one deletion or addition, beside a solve from nothing, a refit by libsvm and the least
#                that reading the kernel rows takes. Fails if any bit is wrong. Five minutes. Writes out/solver.json
#   exactness    deletes, and compares every bit with memories that never held what was deleted; beside it the figures
#                of the paper. Fails unless all bits are equal. Writes out/exactness.json
#   storage      the time and the syncs of Add, Delete, Purge, purges of bytes and a restart, and the share of sealing.
#                Some minutes. Writes out/storage.json
#   readout      the time of readouts beside a matrix product, attention over all tokens and an exact search (faiss, where
#                PyPI can be reached). Fails if an answer is beyond its bound. Two minutes. Writes out/readout.json
#   certificate  the time of sealing and of verifying
#
# Options of solver:
#   --quick      without n = 100000: half a minute at most
#   --n N, --only gaussian|clustered|1/10.5, --repetitions N: a part of it; --thread-time: for a machine that does
#                other things; all: build/release/bin/solver_bench --help
#
# Options of exactness:
#   --trials N   trials a regime (300: seconds); insertion orders and streams are scaled likewise. 1000000 takes an hour
#   --data FILE  intensive-care stays as CSV; default $EXPUNGE_DATA/icu_vitals.csv, or beside the repository. Without
#                the file that regime is skipped, visibly
#   --only R, --seed N, --first N, --cases N, --threads N, --out FILE: one regime, other data, some cases, ...
#
# Options of storage:
#   --tokens N   of the memory that is started again (100000); --erase-mib N: of the store that is erased from (1024);
#                --directory DIR: another disk; --repetitions N, --out FILE
#
# Options of readout:
#   --support M, --dimension D, --queries Q, --rounds N, --quick, --out FILE: a part of it; --thread-time: for a machine
#                that does other things
#
# Name the program that an option is for. Options --benchmark_*, such as --benchmark_filter=R, go to certificate, which is
# a Google Benchmark program: it prints a table and writes out/bench/certificate.json with the machine's facts and the
# commit. Compare only runs of one machine that did nothing else.
source scripts/lib.sh

google_benchmarks=(certificate)
own_programs=(solver exactness storage readout)

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
[[ ${#names[@]} -gt 0 ]] || names=(solver exactness storage readout certificate)
if [[ ${#own_options[@]} -gt 0 ]]; then
  takers=()
  for name in "${own_programs[@]}"; do ! contains "$name" "${names[@]}" || takers+=("$name"); done
  [[ ${#takers[@]} -eq 1 ]] ||
    usage_error "the option '${own_options[0]}' is for one of: ${own_programs[*]}; name it. ./dev bench --help"
fi

need_packages build bench
configure release
build_targets release "${names[@]/%/_bench}"
mkdir -p out/bench
commit=$(git describe --always --dirty)

# Times the searches that readouts are compared with, and adds them to readout's options. faiss comes from PyPI into a
# private environment: Debian has no package of it.
time_searches() {
  local venv=build/venv-faiss times=out/bench/flat_index.json
  if [[ ! -x $venv/bin/python ]] &&
    ! { python3 -m venv "$venv" && "$venv/bin/pip" install -q --retries 1 --disable-pip-version-check 'faiss-cpu==1.15.1'; }; then
    rm -rf "$venv"
    echo "SKIPPED: no times of an exact search, since faiss-cpu could not be had from PyPI"
    return 0
  fi
  step "Searching with faiss" "$venv/bin/python" bench/readout/flat_index.py "$times"
  readout_options=(--flat-index "$times")
}
readout_options=()
! contains readout "${names[@]}" || time_searches
for name in "${names[@]}"; do
  if contains "$name" "${own_programs[@]}"; then
    options=("${own_options[@]}")
    [[ $name != readout ]] || options+=("${readout_options[@]}")
    step "Benchmark $name" "build/release/bin/${name}_bench" "${options[@]}"
  else
    step "Benchmark $name" "build/release/bin/${name}_bench" --benchmark_context=commit="$commit" \
      --benchmark_out="out/bench/$name.json" --benchmark_out_format=json "${google_options[@]}"
    echo "Results: out/bench/$name.json"
  fi
done
