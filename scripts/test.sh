#!/usr/bin/env bash
# Builds everything and runs the tests; ends in ctest's own summary.
#
# Usage: ./dev test [--preset P] [--label L] [--filter R]
#
#   --preset P   dev (default), asan, tsan, clang; see CMakePresets.json
#   --label L    only tests with this label: unit, slow, integration, fault (in their full forms: 500 kills, every step)
#   --filter R   only tests whose name matches this regular expression
#
# From nothing this takes about ten minutes on two cores, nearly all of it compiling. Fails if a test fails, or if
# no test matches.
source scripts/lib.sh
source scripts/independent.sh

# What the tests of faults repeat as often as there is time for; each says how often it does by itself.
full_faults() {
  export EXPUNGE_KILLS=${EXPUNGE_KILLS:-500} EXPUNGE_CRASH_MATRIX=${EXPUNGE_CRASH_MATRIX:-full}
  export EXPUNGE_POWER_FAILURES=${EXPUNGE_POWER_FAILURES:-200} EXPUNGE_EVERY_STEP=${EXPUNGE_EVERY_STEP:-1}
}

preset=dev
selection=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --preset) preset=${2:?--preset needs a name} && shift 2 ;;
    --label)
      selection+=(--label-regex "^${2:?--label needs a name}\$")
      [[ $2 != fault ]] || full_faults
      shift 2
      ;;
    --filter) selection+=(--tests-regex "${2:?--filter needs a regular expression}") && shift 2 ;;
    *) usage_error "no option '$1'; ./dev test --help" ;;
  esac
done

need_packages build test
configure "$preset"
build_targets "$preset" all
step "Preparing the verifiers of others" prepare_independent_verifiers
say "Running the tests of preset $preset, $jobs at a time"
exec ctest --test-dir "build/$preset" -j "$jobs" --output-on-failure --no-tests=error "${selection[@]}"
