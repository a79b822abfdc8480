#!/usr/bin/env bash
# Checks format, C++ and scripts by static analysis, the wire API, and words and white space.
#
# Usage: ./dev lint [CHECK...]
#
# CHECK is one of the following; all of them by default, each even if an earlier one failed:
#   text     no unfinished-work marks, no trailing white space, no CRLF, a newline at the end of every file
#   format   clang-format 14 finds nothing to change in any .h or .cc
#   scripts  shellcheck over every shell script
#   proto    buf lint over proto/; needs the linter from PyPI and says so when it cannot be had
#   tidy     clang-tidy 14 over every .cc, warnings as errors; files that passed are not analysed again until
#            they, a header that they include, or the tools change
#
# About ten minutes the first time on two cores, nearly all of it clang-tidy; then seconds.
source scripts/lib.sh

# Tracked files whose names match the patterns, if they exist in the work tree.
tracked() {
  local file
  git ls-files -z -- "$@" | while IFS= read -r -d '' file; do
    [[ ! -f $file ]] || printf '%s\0' "$file"
  done
}

shell_scripts() {
  tracked | xargs -0 awk 'FNR == 1 && /^#!.*(bash|sh)$/ { print FILENAME } { nextfile }'
  tracked '*.sh' | tr '\0' '\n'
}

check_text() {
  local bad=0 mark='TO''DO|FIX''ME|X''XX'
  if tracked | xargs -0 grep -nIE "\\b($mark)\\b" --; then
    echo "unfinished-work marks: finish the work, or open an issue"
    bad=1
  fi
  if tracked ':!*.csv' ':!tests/golden' | xargs -0 grep -nIE $'[ \t]+$|\r$' --; then
    echo "white space at the end of lines, or CRLF"
    bad=1
  fi
  local file
  while IFS= read -r -d '' file; do
    [[ ! -s $file || -z $(tail -c 1 "$file" | tr -d '\n') ]] || { echo "$file: no newline at the end" && bad=1; }
  done < <(tracked ':!*.csv' ':!tests/golden' | xargs -0 grep -lIZ '' --)
  return "$bad"
}

check_format() {
  tracked '*.h' '*.cc' | xargs -0 --no-run-if-empty -n 8 -P "$jobs" clang-format-14 --dry-run -Werror
}

check_scripts() {
  shell_scripts | sort -u | xargs -d '\n' shellcheck -x
}

# buf comes from PyPI into a private environment under build/: Debian has no package of it.
check_proto() {
  local venv=build/venv-buf
  if [[ ! -x $venv/bin/buf ]]; then
    if ! { python3 -m venv "$venv" && "$venv/bin/pip" install -q --retries 1 'buf-bin==1.75.0'; }; then
      rm -rf "$venv"
      echo "SKIPPED: buf lint did not run, since buf-bin could not be had from PyPI"
      return 0
    fi
  fi
  (cd proto && "../$venv/bin/buf" lint)
}

check_tidy() {
  configure tidy || return 1
  # The generated headers, and nothing else.
  local generated
  generated=$(ninja -C build/tidy -t targets all | sed -n 's/^\(.*\.pb\.h\): .*/\1/p')
  xargs ninja -C build/tidy --quiet <<< "$generated" || return 1
  python3 scripts/tidy.py --build build/tidy --jobs "$jobs"
}

checks=(text format scripts proto tidy)
[[ $# -eq 0 ]] || checks=("$@")
for check in "${checks[@]}"; do
  declare -F "check_$check" > /dev/null || usage_error "no check '$check'; ./dev lint --help"
done

need_packages build lint
failed=()
for check in "${checks[@]}"; do
  step "Lint: $check" "check_$check" || failed+=("$check")
done
if [[ ${#failed[@]} -gt 0 ]]; then
  say "Lint failed: ${failed[*]}"
  exit 1
fi
say "Lint passed: ${checks[*]}"
