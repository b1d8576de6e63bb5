#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs those packages of dependencies.txt that this machine lacks; says nothing when none is missing.
#   packaging/install-dependencies.sh [build|all]      build: only what compiling needs; default: all
# Without root it changes nothing and prints the command to run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

wanted=${1:-all}
[[ $wanted == build || $wanted == all ]] || { echo "usage: $0 [build|all]" >&2; exit 2; }

# Lines are "package  # reason" under a heading [build] or [test].
packages=$(awk -v wanted="$wanted" '
  { sub(/#.*/, "") }
  /^\[/ { section = $1; next }
  NF && (wanted == "all" || section == "[" wanted "]") { print $1 }' dependencies.txt)

# shellcheck disable=SC2086  # one word a package
installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' $packages 2>/dev/null |
  awk '$1 == "ii" { print $2 }' || true)
missing=$(comm -23 <(sort -u <<<"$packages") <(sort -u <<<"$installed") | xargs)
[[ -n $missing ]] || exit 0

install="apt-get install -y --no-install-recommends $missing"
if [[ $(id -u) != 0 ]]; then
  printf 'These packages are missing. As root:\n  apt-get update && %s\n' "$install" >&2
  exit 1
fi

# The lab starts its own nginx in a namespace; the package must not start one on this machine.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi

echo "Installing: $missing"
export DEBIAN_FRONTEND=noninteractive
apt-get -q -o DPkg::Lock::Timeout=600 update </dev/null
# shellcheck disable=SC2086
apt-get -q -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 ${install#apt-get } </dev/null
