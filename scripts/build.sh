#!/usr/bin/env bash
# Builds everything, or the targets named.
#
# Usage: ./dev build [--preset P] [TARGET...]
#
#   --preset P   dev (default: GCC -O2, assertions), release, asan, tsan, clang; see CMakePresets.json
#   TARGET       Ninja targets, such as expunged or expunge; by default all
#
# Output: build/P; programs in build/P/bin. The first build takes minutes; later ones, with ccache, seconds.
source scripts/lib.sh

preset=dev
targets=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --preset) preset=${2:?--preset needs a name} && shift 2 ;;
    -*) usage_error "no option '$1'; ./dev build --help" ;;
    *) targets+=("$1") && shift ;;
  esac
done
[[ ${#targets[@]} -gt 0 ]] || targets=(all)

groups=(build)
[[ $preset == release || $preset == tidy ]] && groups+=(bench)
[[ $preset == clang || $preset == tidy ]] && groups+=(test)
need_packages "${groups[@]}"
configure "$preset"
build_targets "$preset" "${targets[@]}"
