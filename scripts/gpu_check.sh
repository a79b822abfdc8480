#!/usr/bin/env bash
# Checks the CUDA readout kernels on the device present, and measures them.
#
# Usage: scripts/gpu_check.sh [--quick] [--no-bench] [--no-sanitizer] [--build DIR]
#
#   --quick          fewer sizes: about a minute and a half
#   --no-bench       only the comparisons
#   --no-sanitizer   without compute-sanitizer
#   --build DIR      where to build (default: build/gpu_check)
#
# Needs CMake, nvcc (CUDA 12 or newer) with its C++ compiler, and the folder attention/ beside this one; nothing else.
# compute-sanitizer and cuBLAS are used where they are; what is missing is named. Takes at most 8 minutes.
#
# Exit status: 0 everything ran on a device and passed; 1 something failed; 2 wrong usage, or nothing could be built;
# 77 nothing was checked, because there is no usable device. It never passes without a device.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2

quick=() bench=1 sanitizer=1 build=build/gpu_check
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) quick=(--quick) && shift ;;
    --no-bench) bench=0 && shift ;;
    --no-sanitizer) sanitizer=0 && shift ;;
    --build) build=${2:?--build needs a folder} && shift 2 ;;
    -h | --help)
      awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"
      exit 0
      ;;
    *) echo "$0: no option '$1'; --help tells more" >&2 && exit 2 ;;
  esac
done

deadline=$((SECONDS + 470))
say() { echo "== [${SECONDS}s] $*"; }
# Runs a command within what is left of the time.
limited() {
  local left=$((deadline - SECONDS))
  [[ $left -gt 5 ]] || { echo "no time is left for: $*" && return 124; }
  timeout --kill-after=5 "$left" "$@"
}

find_tool() {
  local folder
  command -v "$1" && return 0
  for folder in "${CUDA_PATH:-}" "${CUDA_HOME:-}" /usr/local/cuda /opt/cuda; do
    [[ -n $folder && -x $folder/bin/$1 ]] && echo "$folder/bin/$1" && return 0
  done
  return 1
}

# Runs one part of the check. It counts only if its output ends by saying on which device it ran.
passed=() failed=() skipped=()
part() {
  local name=$1 log=$build/$1.log status
  shift
  say "$name: $*"
  limited "$@" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  if [[ $status -eq 77 ]]; then
    say "NOTHING WAS CHECKED: there is no usable device"
    exit 77
  elif [[ $status -eq 0 ]] && grep -q '^CHECKED ON ' "$log"; then
    passed+=("$name")
  else
    say "$name FAILED (exit status $status)"
    failed+=("$name")
  fi
}

cmake=$(command -v cmake) || { echo "cmake is missing" >&2 && exit 2; }
nvcc=$(find_tool nvcc) || { echo "nvcc is missing: install the CUDA toolkit, or set CUDA_PATH" >&2 && exit 2; }
mkdir -p "$build" || exit 2

flags=()
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | sort -V | tail -n 1 | tr -d '. ')
case $capability in
  90) flags=(-DEXPUNGE_CUDA_FLAGS="-gencode=arch=compute_90a,code=sm_90a") ;;
  8?) flags=(-DEXPUNGE_CUDA_FLAGS="-gencode=arch=compute_$capability,code=sm_$capability") ;;
esac
say "building with $("$nvcc" --version | grep -o 'release [0-9.]*'), for compute capability ${capability:-unknown}"
limited "$cmake" -S attention/cuda/check -B "$build" -DCMAKE_CUDA_COMPILER="$nvcc" "${flags[@]}" > "$build/configure.log" 2>&1 ||
  { tail -n 30 "$build/configure.log" && exit 2; }
grep 'cuBLAS' "$build/configure.log"
limited "$cmake" --build "$build" --parallel > "$build/build.log" 2>&1 || { tail -n 60 "$build/build.log" && exit 2; }

check=$build/cuda_check
part compare "$check" --part=compare "${quick[@]}"
if [[ $sanitizer -eq 0 ]]; then
  skipped+=("compute-sanitizer (--no-sanitizer)")
elif sanitize=$(find_tool compute-sanitizer); then
  for tool in memcheck racecheck; do
    part "$tool" "$sanitize" --tool "$tool" --error-exitcode 1 "$check" --part=sanitize
  done
else
  skipped+=("memcheck and racecheck (compute-sanitizer is not installed)")
fi
if [[ $bench -eq 1 ]]; then
  part bench "$check" --part=bench "${quick[@]}"
else
  skipped+=("bench (--no-bench)")
fi

for what in "${skipped[@]}"; do say "NOT RUN: $what"; done
if [[ ${#failed[@]} -gt 0 ]]; then
  say "FAILED: ${failed[*]}; passed: ${passed[*]:-nothing}"
  exit 1
fi
say "PASSED on $(grep -h '^CHECKED ON ' "$build/compare.log" | sed 's/^CHECKED ON \(.*\): compare.*/\1/'): ${passed[*]}"
