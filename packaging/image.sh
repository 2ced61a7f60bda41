#!/usr/bin/env bash
# image.sh OUT SUITE [MIRROR]: makes OUT/filibuster-VERSION-image-SUITE.tar, a container image for `docker load`, `podman load` and
# whatever reads OCI archives, without a container engine: a root by mmdebstrap with the packages of OUT. A suite other than
# that for which the packages were built gets the tarball of OUT instead, in /opt.
#
# IMAGE_INCLUDE names further packages of the suite, separated by commas. Where no root can be made, no image is, and the
# reason is printed.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1 suite=$2 mirror=${3:-http://deb.debian.org/debian}
version=$(packaging/version.sh)
own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
image=$out/filibuster-$version-image-$suite.tar

command -v mmdebstrap >/dev/null || { echo "no container image: mmdebstrap is not installed"; exit; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016  # $1 is the root, in a shell that mmdebstrap starts
if [ "$suite" = "$own" ]; then
  for package in "$out"/*.deb; do hooks+=("--customize-hook=upload $package /tmp/$(basename "$package")"); done
  hooks+=('--customize-hook=chroot "$1" sh -c "apt-get install -qq --no-install-recommends /tmp/*.deb && rm /tmp/*.deb"')
else
  mkdir "$work/opt"
  tar -C "$work/opt" -xzf "$out/filibuster-$version-linux-x86_64.tar.gz"
  hooks=("--customize-hook=sync-in $work/opt /opt"
    "--customize-hook=ln -s /opt/filibuster-$version-linux-x86_64/bin/filibuster /opt/filibuster-$version-linux-x86_64/bin/filibusterd \"\$1/usr/local/bin/\"")
fi
# git tells which files have changed (`run --changed`); libunwind8 reads native call stacks.
if ! mmdebstrap --variant=apt --include="ca-certificates,git,libunwind8${IMAGE_INCLUDE:+,$IMAGE_INCLUDE}" "${hooks[@]}" \
    --customize-hook='rm -rf "$1"/var/cache/apt/* "$1"/var/log/*' "$suite" "$work/root.tar" "$mirror" > "$work/log" 2>&1; then
  echo "no container image: mmdebstrap could not make a root of $suite:"
  grep '^E:' "$work/log" || tail -n 5 "$work/log"
  exit
fi
/usr/bin/python3 packaging/image.py "$work/root.tar" "filibuster:$version-$suite" "$image"
echo "$image"
