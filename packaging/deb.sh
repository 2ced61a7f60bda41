#!/usr/bin/env bash
# deb.sh OUT: makes two Debian packages in OUT from what install.sh installs.
#
#   filibuster            the command, its daemon, and everything beside them
#   filibuster-preload    libfilibuster.so and the helpers that run inside of services: all that the
#                         container of a service needs
#
# Who makes a package is named by DEBFULLNAME and DEBEMAIL.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1 build=${BUILD:-build}
version=$(packaging/version.sh)
architecture=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-Filibuster maintainers} <${DEBEMAIL:-maintainers@filibuster.invalid}>"
date=$(date -R -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}")

year=$(date -u -d "$date" +%Y)

rm -rf "$out"
mkdir -p "$out/all" "$out/debian"
BUILD=$build packaging/install.sh "$out/all" /usr
rm "$out/all/usr/share/filibuster/installed"  # dpkg keeps its own

stage=$out/filibuster preload=$out/filibuster-preload
mv "$out/all" "$stage"
for path in usr/lib/libfilibuster.so usr/lib/filibuster/node.cjs usr/lib/filibuster/coverage; do
  mkdir -p "$preload/$(dirname $path)"
  mv "$stage/$path" "$preload/$path"
done
find "$stage/usr/bin" "$stage"/usr/lib/filibuster/filibuster-* -type f -exec strip --strip-unneeded --remove-section=.comment --remove-section=.note {} +
find "$preload" -name '*.so' -exec strip --strip-unneeded --remove-section=.comment --remove-section=.note {} +
find "$stage/usr/share/man" -type f -exec gzip -9n {} +
rm "$stage/usr/share/doc/filibuster/LICENSE"  # the file copyright has it

# Debian's names for what every package has (Debian Policy, chapter 12).
document() {  # PACKAGE FOLDER
  local folder=$2/usr/share/doc/$1
  mkdir -p "$folder" "$2/usr/share/lintian/overrides"
  {
    echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
    echo "Upstream-Name: filibuster"
    echo
    echo "Files: *"
    echo "Copyright: $year the Filibuster maintainers"
    echo "License: Apache-2.0"
    echo " On Debian systems, the text of the license is in /usr/share/common-licenses/Apache-2.0."
    if [ "$1" = filibuster ]; then
      echo
      echo "Files: usr/lib/filibuster/report.html"
      echo "Copyright: $year the Filibuster maintainers, 2015-present Jason Miller"
      echo "License: Apache-2.0 and Expat"
      echo " The part of preact is under the Expat license, whose text stands in that file."
    fi
  } > "$folder/copyright"
  printf 'filibuster (%s) unstable; urgency=medium\n\n  * See /usr/share/doc/filibuster/CHANGELOG.md.\n\n -- %s  %s\n' \
    "$version" "$maintainer" "$date" | gzip -9n > "$folder/changelog.gz"
  sed -n "s/^$1: //p" packaging/lintian-overrides | sed "s/^/$1: /" > "$2/usr/share/lintian/overrides/$1"
  find "$2" -type d -exec chmod 755 {} +
}
mkdir -p "$preload/DEBIAN" && echo "activate-noawait ldconfig" > "$preload/DEBIAN/triggers"
document filibuster "$stage"
document filibuster-preload "$preload"

printf 'Source: filibuster\n\nPackage: filibuster\nArchitecture: any\n\nPackage: filibuster-preload\nArchitecture: any\n' > "$out/debian/control"
needs() {  # PATTERN...: the packages of the libraries that the files below $out need
  # shellcheck disable=SC2048,SC2086  # the patterns are expanded there
  (cd "$out" && dpkg-shlibdeps --ignore-missing-info -O $* 2>/dev/null | sed 's/^shlibs:Depends=//')
}
pack() {  # PACKAGE FOLDER DEPENDS SUMMARY DESCRIPTION [FIELD...]
  mkdir -p "$2/DEBIAN"
  {
    printf 'Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$1" "$version" "$architecture" "$maintainer"
    printf 'Section: devel\nPriority: optional\nInstalled-Size: %s\nDepends: %s\n' "$(du -sk "$2" | cut -f1)" "$3"
    [ $# -lt 6 ] || printf '%s\n' "${@:6}"
    printf 'Description: %s\n %s\n' "$4" "$5"
  } > "$2/DEBIAN/control"
  (cd "$2" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) > "$2/DEBIAN/md5sums"
  chmod 644 "$2/DEBIAN/md5sums" "$2/DEBIAN/control"
  dpkg-deb --root-owner-group -Zxz --build "$2" "$out/$1_${version}_$architecture.deb" >/dev/null
  echo "$out/$1_${version}_$architecture.deb"
}
pack filibuster-preload "$preload" "$(needs filibuster-preload/usr/lib/libfilibuster.so)" \
  "fault injection into microservices: the library inside of services" \
  "Filibuster runs a functional test again and again, with another fault at the
 remote calls of the application each time. This library watches the sockets of
 a service, for which LD_PRELOAD names it, and injects the faults. It does
 nothing while no session of Filibuster runs." \
  "Recommends: libunwind8"
# The daemon loads CLP when it plans (daemon/retries/pair_cover.cc), which dpkg-shlibdeps does not see.
pack filibuster "$stage" "filibuster-preload (= $version), coinor-libclp1, $(needs filibuster/usr/bin/filibuster filibuster/usr/bin/filibusterd filibuster/usr/lib/filibuster/filibuster-*)" \
  "exhaustive fault injection for microservices, as they are built" \
  "Filibuster takes an application of microservices and one functional test that
 passes. It runs the test once, sees every remote call, and runs it again with
 every fault and combination of faults that can matter. Each failing execution
 comes with the exact fault, the call site and a command that replays it."
rm -rf "$stage" "$preload" "$out/debian"
