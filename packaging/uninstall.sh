#!/usr/bin/env bash
# uninstall.sh DESTDIR PREFIX: removes the files that install.sh has listed, and the folders of Filibuster's
# own that are empty then.
set -euo pipefail
destdir=$1 prefix=$2
list=$destdir$prefix/share/filibuster/installed
[ -r "$list" ] || { echo "uninstall: $list is not there: nothing was installed there by \`make install\`" >&2; exit 2; }
mapfile -t files < "$list"
for file in "${files[@]}"; do
  case $file in
    "$prefix"/*) rm -f "$destdir$file" ;;
    *) echo "uninstall: $list names $file, which is not below $prefix: left alone" >&2 ;;
  esac
done
for folder in lib/filibuster share/filibuster share/doc/filibuster; do
  [ ! -d "$destdir$prefix/$folder" ] || find "$destdir$prefix/$folder" -depth -type d -empty -delete
done
