#!/bin/sh
# tidy.sh BASE JOBS: clang-tidy on the C++ files that differ from the commit BASE. Of a header, the file that has its
# name is looked at, since a header alone has no compile command.
base=$1
jobs=$2
files=$(git diff --name-only --diff-filter=d "$base" -- '*.cc' '*.h' | sed 's/\.h$/.cc/' | sort -u | while read -r file; do
  if grep -qF "\"file\": \"$file\"" compile_commands.json; then echo "$file"; fi
done)
[ -n "$files" ] || exit 0
echo "$files" | xargs -P "$jobs" -n 1 sh -c '
  said=$(clang-tidy-14 -p . --quiet "$0" 2>&1) && exit 0
  printf "%s\n" "$said" | grep -v "warnings generated"
  exit 1'
