#!/usr/bin/env bash
# Proves that a clean Debian 12 with only bash and git can run the demo and the tests.
#
# Usage: ./dev fresh [--mirror URL] [--dir DIR] [--keep] [COMMAND...]
#
#   --mirror URL   Debian mirror; by default the one that apt uses here
#   --dir DIR      where the clean system goes; must not exist; default build/fresh. Needs 6 GB
#   --keep         leave it there afterwards, to look into
#   COMMAND        ./dev commands to run inside; default: demo test
#
# Needs root (chroot). Debootstraps Debian 12 with nothing more than bash, git and certificates, clones the last
# commit into it, and runs the commands there, in mount and process namespaces of their own: when they end,
# whatever way, no mount and no process is left. Takes about fifteen minutes on two idle cores.
source scripts/lib.sh

dir=build/fresh
mirror=
keep=
commands=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --mirror) mirror=${2:?--mirror needs a URL} && shift 2 ;;
    --dir) dir=${2:?--dir needs a folder} && shift 2 ;;
    --keep) keep=yes && shift ;;
    -*) usage_error "no option '$1'; ./dev fresh --help" ;;
    *) commands+=("$1") && shift ;;
  esac
done
[[ ${#commands[@]} -gt 0 ]] || commands=(demo test)
[[ $(id -u) -eq 0 ]] || die "./dev fresh needs root: sudo ./dev fresh"
[[ ! -e $dir ]] || die "$dir exists: remove it, or name another folder with --dir"
need_packages fresh
# shellcheck disable=SC2016 # apt expands these
mirror=${mirror:-$(apt-get indextargets --format '$(SITE) $(CODENAME)' 'Created-By: Packages' |
  awk '$2 == "bookworm" { print $1; exit }')}
mirror=${mirror:-http://deb.debian.org/debian}

# The file system is removed only when nothing is mounted below it, and never across file systems.
# shellcheck disable=SC2317 # the trap calls it
remove_root() {
  local status=$?
  if [[ -n $keep ]]; then
    echo "Kept: $dir"
  elif grep -qF " $(realpath -m "$dir")/" /proc/self/mountinfo; then
    echo "warning: something is mounted below $dir; it is left as it is" >&2
  else
    rm -rf --one-file-system "$dir"
  fi
  exit "$status"
}
trap remove_root EXIT
trap 'exit 130' INT TERM HUP

# What this machine's network needs and a clean system would not know: name servers, proxies, own certificates.
copy_network_settings() {
  cp -L /etc/resolv.conf /etc/hosts "$dir/etc/"
  apt-config dump | grep -E '^Acquire::(https?::Proxy|Check-Valid-Until|Check-Date)' \
    > "$dir/etc/apt/apt.conf.d/90host" || true
  if compgen -G '/usr/local/share/ca-certificates/*.crt' > /dev/null; then
    cp /usr/local/share/ca-certificates/*.crt "$dir/usr/local/share/ca-certificates/"
    chroot "$dir" update-ca-certificates > /dev/null
  fi
}

# inside COMMAND...: in the clean system, in the clone's root.
# shellcheck disable=SC2016 # the inner shells expand these
inside() {
  unshare --mount --pid --fork --kill-child --propagation private -- bash -euc '
    mount -t proc proc "$0/proc"
    mount --rbind /dev "$0/dev"
    exec chroot "$0" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      LANG=C.UTF-8 bash -euc "cd /root/expunge && exec \"\$@\"" bash "$@"' "$(realpath "$dir")" "$@"
}

commit=$(git rev-parse --short HEAD)
[[ -z $(git status --porcelain) ]] || echo "note: uncommitted changes are not part of the clean clone"
mkdir -p "$(dirname "$dir")"
step "Making a clean Debian 12 in $dir from $mirror (about 2 minutes)" \
  unshare --mount --propagation private debootstrap --variant=minbase --include=bash,git,ca-certificates bookworm "$dir" "$mirror"
copy_network_settings
step "Cloning $commit into it" git clone --quiet --no-hardlinks . "$dir/root/expunge"
git -C "$dir/root/expunge" checkout --quiet --detach "$commit"

results=()
failed=0
for command in "${commands[@]}"; do
  begin=$SECONDS
  say "In the clean system: ./dev $command"
  if inside ./dev "$command"; then
    results+=("passed  ./dev $command  $((SECONDS - begin)) s")
  else
    results+=("FAILED  ./dev $command  $((SECONDS - begin)) s")
    failed=1
  fi
done

say "Clean Debian 12, commit $commit"
printf '    %s\n' "${results[@]}"
exit "$failed"
