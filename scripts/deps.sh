#!/usr/bin/env bash
# Installs the Debian packages that the project needs.
#
# Usage: ./dev deps [GROUP...]
#
# GROUP is one of build, test, lint, bench, fresh (scripts/debian-packages.txt); all of them by default. Packages come from
# the Debian mirror that apt is set up with, and from nowhere else. Does nothing if all are installed. The
# other commands call this for the groups that they need.
source scripts/lib.sh

groups=("$@")
[[ ${#groups[@]} -gt 0 ]] || groups=(build test lint bench fresh)
for group in "${groups[@]}"; do
  [[ -n $(list_packages "$group") ]] || usage_error "no group '$group' in scripts/debian-packages.txt"
done
need_packages "${groups[@]}"
echo "All packages of ${groups[*]} are installed."
