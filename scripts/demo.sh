#!/usr/bin/env bash
# Shows the whole chain on real patients' data: import, purge, certificate, crash, restart, four independent verdicts.
#
# Usage: ./dev demo [OPTION...]
#
# Builds only the three programs (minutes the first time), then runs client/examples/demo.py, which needs less than a
# minute and passes OPTION on. Exit code 0 only if every step held.
source scripts/lib.sh
source scripts/independent.sh

need_packages build
configure dev
build_targets dev expunged expunge expunge-verify
step "Preparing the verifiers of others" prepare_independent_verifiers
say "Running the demo (under a minute)"
exec python3 client/examples/demo.py --bin build/dev/bin "$@"
