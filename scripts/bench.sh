#!/usr/bin/env bash
# Builds the benchmarks with full optimisation and runs them.
#
# Usage: ./dev bench [NAME] [GOOGLE-BENCHMARK-OPTION...]
#
#   NAME   solver, readout or certificate; by default all, each under a minute
#
# Options such as --benchmark_filter=R go to the programs. Prints a table; writes out/bench/NAME.json with the
# machine's facts and the commit. Compare only runs of one machine that did nothing else.
source scripts/lib.sh

names=()
options=()
for argument in "$@"; do
  if [[ $argument == -* ]]; then options+=("$argument"); else names+=("$argument"); fi
done
[[ ${#names[@]} -gt 0 ]] || names=(solver readout certificate)
for name in "${names[@]}"; do
  [[ -f bench/${name}_bench.cc ]] || usage_error "no benchmark '$name'; ./dev bench --help"
done

need_packages build bench
configure release
build_targets release "${names[@]/%/_bench}"
mkdir -p out/bench
commit=$(git describe --always --dirty)
for name in "${names[@]}"; do
  step "Benchmark $name" "build/release/bin/${name}_bench" --benchmark_context=commit="$commit" \
    --benchmark_out="out/bench/$name.json" --benchmark_out_format=json "${options[@]}"
done
echo "Results: out/bench/*.json"
