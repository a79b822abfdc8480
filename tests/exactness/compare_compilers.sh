#!/usr/bin/env bash
# Builds exactness_bits with other compilers and flags and compares what they print, byte for byte.
#
# Usage: compare_compilers.sh PROGRAM      (the program of the present build; SOURCE_DIR: the source tree)
set -euo pipefail
program=$1
cd "$SOURCE_DIR"
unset CXXFLAGS LDFLAGS

expected=$("$program")
echo "present build:"
echo "$expected"
failed=0
if [[ $("$program" --plain) == "$expected" ]]; then
  echo "equal: without wide vectors"
else
  echo "DIFFERENT: without wide vectors"
  failed=1
fi
compare_units() {  # compare_units PROGRAM WHAT: readouts by each vector unit
  local unit
  for unit in $("$1" --units); do
    if [[ $("$1" "--unit=$unit") == "$expected" ]]; then
      echo "equal: $2, readouts by $unit"
    else
      echo "DIFFERENT: $2, readouts by $unit"
      failed=1
    fi
  done
}
compare_units "$program" "present build"
compare() {  # compare NAME CXX FLAGS
  local built actual
  built=$(scripts/build_variant.sh "$1" "$2" "$3" exactness_bits 2> "/tmp/exactness_$1.$$.log" | tail -n 1) || {
    tail -n 30 "/tmp/exactness_$1.$$.log"
    echo "FAILED to build $1"
    failed=1
    return
  }
  rm -f "/tmp/exactness_$1.$$.log"
  actual=$("$built")
  if [[ $actual == "$expected" ]]; then
    echo "equal: $2 $3"
  else
    echo "DIFFERENT: $2 $3"
    diff <(echo "$expected") <(echo "$actual") || true
    failed=1
  fi
  compare_units "$built" "$2 $3"
}

compare gcc-O0 g++ "-O0"
compare clang-O2 clang++-14 "-O2"
if grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo; then
  compare gcc-O3-avx2 g++ "-O3 -mavx2 -mfma"
else
  echo "SKIPPED: g++ -O3 -mavx2 -mfma: this processor has no AVX2 or no FMA"
fi
exit "$failed"
