#!/usr/bin/env bash
# Builds one target of the solver with another compiler or other flags, to compare its results bit for bit.
#
# Usage: scripts/build_variant.sh NAME CXX "FLAGS" TARGET
#
# Configures build/variants/NAME with EXPUNGE_ONLY_SOLVER (base, solver and attention; no gRPC, no RocksDB) and builds TARGET
# there with the compiler CXX and with FLAGS alone, such as "-O3 -mavx2 -mfma". CMake's own output goes to
# standard error; prints the path of the program, build/variants/NAME/bin/TARGET.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
source scripts/lib.sh

[[ $# -eq 4 ]] || usage_error 'scripts/build_variant.sh NAME CXX "FLAGS" TARGET'
name=$1 compiler=$2 flags=$3 target=$4
command -v "$compiler" > /dev/null || die "no compiler $compiler: ./dev deps test installs it"

folder=build/variants/$name
cmake -S . -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_BUILD_TYPE= \
  -DEXPUNGE_ONLY_SOLVER=ON >&2
cmake --build "$folder" -j "$jobs" --target "$target" >&2
echo "$PWD/$folder/bin/$target"
