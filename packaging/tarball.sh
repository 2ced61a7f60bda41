#!/usr/bin/env bash
# tarball.sh OUT [--tree]: makes OUT/filibuster-VERSION-linux-x86_64.tar.gz from what install.sh installs. It runs from any folder,
# on any distribution of x86-64. With --tree it stays a folder.
#
#   bin/, lib/filibuster/filibuster-proxy   launchers (launcher.c), which need nothing of the host
#   lib/filibuster/packed/                  the programs, the loader, libc, and each other library that they need
#   lib/filibuster/filibuster-bpf           static, since file capabilities (setcap) must be its own
#   lib/libfilibuster.so, …/filibuster-host loaded by the host's loader, as they are everywhere
#   share/doc/filibuster/third-party/       version and licence of what comes from others
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin  # ldconfig
out=$1 build=${BUILD:-build}
[ "$(uname -m)" = x86_64 ] || { echo "tarball: for x86-64 only" >&2; exit 3; }
version=$(packaging/version.sh)
name=filibuster-$version-linux-x86_64
tree=$out/$name
helpers=$tree/lib/filibuster
packed=$helpers/packed
loader=ld-linux-x86-64.so.2

rm -rf "$tree" "$out/$name.tar.gz"
mkdir -p "$tree"
BUILD=$build packaging/install.sh "$tree" ""
rm "$tree/share/filibuster/installed"

mkdir "$packed"
for program in bin/filibuster bin/filibusterd lib/filibuster/filibuster-proxy; do
  mv "$tree/$program" "$packed/"
  install -m755 "$build/static/launcher" "$tree/$program"
done
if [ -e "$build/static/filibuster-bpf" ]; then install -m755 "$build/static/filibuster-bpf" "$helpers/filibuster-bpf"; fi
find "$tree/bin" "$packed" "$helpers" -maxdepth 1 -type f \( -name 'filibuster*' -o -name '*.so' \) -exec strip --strip-unneeded --remove-section=.comment {} +
find "$tree/lib/libfilibuster.so" "$helpers/coverage" -name '*.so' -exec strip --strip-unneeded --remove-section=.comment {} +

# What the programs need, and what is loaded by its name: CLP (daemon/retries/pair_cover.cc), and glibc's own that other libraries
# and what somebody preloads may ask for. The host's would not fit the libc of here.
system=$(dirname "$(ldd "$build/bin/filibuster" | sed -n 's/.*libc\.so\.6 => \([^ ]*\) .*/\1/p')")
named=("$system/$loader")
for library in libClp.so.1 libdl.so.2 libpthread.so.0 librt.so.1 libutil.so.1 libanl.so.1 libresolv.so.2 libnss_compat.so.2; do
  named+=("$(ldconfig -p | sed -n "s|.*\s$library (libc6,x86-64) => ||p" | head -1)")
  [ -n "${named[-1]}" ] || { echo "tarball: $library is not there" >&2; exit 3; }
done
mapfile -t libraries < <({ printf '%s\n' "${named[@]}"; ldd "$packed"/filibuster* "${named[@]:1}" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p'; } | LC_ALL=C sort -u)
for library in "${libraries[@]}"; do
  install -m644 "$library" "$packed/$(basename "$library")"
done
chmod 755 "$packed/$loader"
for needs in "$packed"/filibuster* "$packed/libClp.so.1" "$tree/lib/libfilibuster.so"; do
  found=$("$packed/$loader" --inhibit-cache --library-path "$packed" --list "$needs") || { echo "tarball: $needs: $found" >&2; exit 1; }
  if foreign=$(grep '=> /' <<< "$found" | grep -vF "=> $packed/"); then echo "tarball: not packed: $foreign" >&2; exit 1; fi
done

# --- version and licence of each ---
third=$tree/share/doc/filibuster/third-party
mkdir -p "$third"
owner() {  # FILE: its package. On a merged /usr, dpkg knows a file by its earlier name.
  local file
  file=$(readlink -f "$1")
  { dpkg-query -S "$file" "${file#/usr}" 2>/dev/null || :; } | sed -n "1s/:.*//p"
}
describe() {  # PACKAGE WHERE
  [ -n "$1" ] || { echo "tarball: no package has $2" >&2; exit 1; }
  dpkg-query -W -f "$2\t\${Package} \${Version} (source: \${source:Package} \${source:Version})\n" "$1" | sort -u
  mkdir -p "$third/$1"
  cp -L "/usr/share/doc/$1/copyright" "$third/$1/copyright"
}
{
  echo "What others have written and this archive contains, as packages of $(. /etc/os-release && echo "$PRETTY_NAME")."
  echo "The sources of each version are kept at https://snapshot.debian.org. The licences are beside this file."
  echo
  for library in "${libraries[@]}"; do describe "$(owner "$library")" "lib/filibuster/packed/$(basename "$library")"; done
  static=(libnghttp2-dev node-llhttp libpugixml-dev libre2-dev libsqlite3-dev libdw-dev libelf-dev liblzma-dev libbz2-dev zlib1g-dev libiberty-dev
    libyaml-cpp-dev libprotobuf-dev nlohmann-json3-dev libcli11-dev libcpp-httplib-dev libc6-dev
    "$(owner "$(g++ -print-file-name=libstdc++.a)")" "$(owner "$(g++ -print-file-name=libgcc.a)")")
  [ ! -e "$helpers/filibuster-bpf" ] || static+=(libbpf-dev libcapstone-dev)
  for package in "${static[@]}"; do describe "$package" "linked into programs"; done
  [ ! -e "$helpers/report.html" ] || printf 'lib/filibuster/report.html\tpreact (its licence stands in that file)\n'
} > "$third/versions.txt"
cp -rL /usr/share/common-licenses "$third/common-licenses"  # the texts that those files speak of
chmod -R u=rwX,go=rX "$tree"

[ "${2:-}" != --tree ] || { echo "$tree"; exit; }
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" -cf - "$name" | gzip -9n > "$out/$name.tar.gz"
rm -rf "$tree"
echo "$out/$name.tar.gz"
