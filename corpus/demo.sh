#!/bin/sh
# `make demo`: explores cinema-1 with its planted bug, then replays the finding by the command it gave.
set -u
cd "$(dirname "$0")/.." || exit 3
filibuster="${BUILD:-build}/bin/filibuster"
root="${BUILD:-build}/demo"  # kept, so that the commands shown can be given again

echo "cinema-1: Users asks Bookings, then Movies. Its functional test passes. Users has a bug:"
echo "  $filibuster run -c corpus/cinema-1/planted-bug.json --root $root"
echo
"$filibuster" run -c corpus/cinema-1/planted-bug.json --root "$root"
status=$?
if [ "$status" -ne 1 ]; then
  echo "the demonstration expected a finding (exit code 1), not exit code $status" >&2
  exit 3
fi
counterexample=$(ls "$root"/counterexamples/*.json | head -n 1)
echo
echo "The same execution again, with the same fault:"
echo "  $filibuster replay $counterexample --root $root"
echo
"$filibuster" replay "$counterexample" --root "$root"
status=$?
[ "$status" -eq 1 ] || { echo "the replay did not reproduce (exit code $status)" >&2; exit 3; }
echo
command -v filibuster > /dev/null || echo "Nothing is installed: where a hint says filibuster, give $filibuster."
echo "Look at corpus/cinema-1/users.py, get_movie(): it does not expect the exception of a timeout."
