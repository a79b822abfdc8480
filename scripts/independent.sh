# The verifiers of others that the tests and the demo let check our certificates. Sourced after scripts/lib.sh.
# shellcheck shell=bash

independent=build/independent

# Puts into build/independent what can be had: `sumdb`, from Go's checksum database packages, and `dsse`, from PyPI's
# securesystemslib. Says what is missing, why, and how to get it. Fails only if our own program does not build.
prepare_independent_verifiers() {
  mkdir -p "$independent"
  prepare_dsse
  prepare_sumdb
}

# Without modules, Go looks for nothing beyond what Debian installed.
prepare_sumdb() {
  local source=client/independent/sumdb.go program=$independent/sumdb
  [[ ! $program -nt $source ]] || return 0
  if ! command -v go > /dev/null || [[ ! -d /usr/share/gocode/src/golang.org/x/mod/sumdb ]]; then
    echo "NOT AVAILABLE: sumdb, Go's verifier of the log: ./dev deps test installs golang-go and golang-golang-x-mod-dev"
    return 0
  fi
  GO111MODULE=off GOFLAGS='' GOPATH=/usr/share/gocode GOCACHE=$PWD/$independent/go-cache go build -o "$program" "$source"
}

# A private environment, because Debian has no package of it. `dsse` is a program with that environment's Python.
prepare_dsse() {
  local venv=$independent/venv program=$independent/dsse
  [[ ! -x $program ]] || return 0
  if ! { python3 -m venv "$venv" &&
    "$venv/bin/pip" install -q --retries 1 --timeout 10 --disable-pip-version-check 'securesystemslib[crypto]==1.6.0'; }; then
    rm -rf "$venv"
    echo "NOT AVAILABLE: securesystemslib, a verifier of DSSE: PyPI cannot be reached, or python3-venv is missing"
    return 0
  fi
  printf '#!/bin/sh\nexec %q %q "$@"\n' "$PWD/$venv/bin/python" "$PWD/client/independent/dsse_securesystemslib.py" > "$program"
  chmod +x "$program"
}
