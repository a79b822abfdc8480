# Shared by the scripts of ./dev, which source it from the root of the checkout.
# shellcheck shell=bash
set -euo pipefail

jobs=$(nproc)

say() { printf '\n==> %s\n' "$*"; }

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# usage_error TEXT: a mistake on the command line.
usage_error() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

# step TEXT COMMAND...: says what is done, does it, and says how long it took. Its status is the command's.
step() {
  local text=$1 begin=$SECONDS status=0
  shift
  say "$text"
  "$@" || status=$?
  if [[ $status -eq 0 ]]; then
    printf '    done in %d s\n' $((SECONDS - begin))
  else
    printf '    failed after %d s\n' $((SECONDS - begin))
  fi
  return "$status"
}

# Runs a command as root: as it is, or by sudo.
as_root() {
  if [[ $(id -u) -eq 0 ]]; then
    "$@"
  elif command -v sudo > /dev/null; then
    sudo "$@"
  else
    die "this needs root, and there is no sudo here. As root, run: $*"
  fi
}

# list_packages GROUP...: the packages of these groups in scripts/debian-packages.txt.
list_packages() {
  local groups=" $* "
  awk -v groups="$groups" '!/^#/ && NF && index(groups, " " $1 " ") && !seen[$2]++ { print $2 }' scripts/debian-packages.txt
}

# missing_packages NAME...: those that are not installed.
missing_packages() {
  local installed name
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2> /dev/null || true)
  for name in "$@"; do
    grep -qx "installed $name" <<< "$installed" || echo "$name"
  done
}

# need_packages GROUP...: installs what is missing of these groups; silent if nothing is.
need_packages() {
  command -v apt-get > /dev/null ||
    die "this is not Debian; install the equivalents of scripts/debian-packages.txt by hand"
  local wanted missing
  mapfile -t wanted < <(list_packages "$@")
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  [[ ${#missing[@]} -gt 0 ]] || return 0
  step "Refreshing the package lists" as_root apt-get update -q
  step "Installing ${#missing[@]} Debian packages (some minutes): ${missing[*]}" \
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# configure PRESET: its CMake configuration, in build/PRESET. Ninja repeats it by itself when a CMake file changes.
configure() {
  [[ -f build/$1/build.ninja ]] || step "Configuring preset $1 (about 10 s)" cmake --preset "$1"
}

# build_targets PRESET TARGET...
build_targets() {
  local preset=$1
  shift
  step "Building preset $preset with $jobs jobs (minutes the first time)" \
    cmake --build "build/$preset" -j "$jobs" --target "$@"
}
