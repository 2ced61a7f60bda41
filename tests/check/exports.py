#!/usr/bin/env python3
"""exports.py LIBRARY RECORD: compares what a library shows to the programs that load it with the recorded names.

Each name that libfilibuster.so shows takes the place of the same name in every program of an application. So a name
comes into the record by hand, beside the change that adds it.
"""

import subprocess
import sys


def shown_by(library):
    """The names that the library defines for others, without their versions."""
    output = subprocess.run(["readelf", "--wide", "--dyn-syms", library], check=True, capture_output=True, text=True)
    rows = [line.split() for line in output.stdout.splitlines()]
    return {row[7].split("@")[0] for row in rows
            if len(row) >= 8 and row[4] in ("GLOBAL", "WEAK", "UNIQUE") and row[6] != "UND"}


def differences(shown, recorded):
    """What is wrong, a line each."""
    for name in sorted(shown - recorded):
        yield f"{name} is shown and not recorded: hide it, or add it to the record"
    for name in sorted(recorded - shown):
        yield f"{name} is recorded and not shown: restore it, or remove it from the record"


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: exports.py LIBRARY RECORD")
    library, record = sys.argv[1:]
    shown = shown_by(library)
    if not shown:
        sys.exit(f"{library} shows nothing: is it the library?")
    with open(record, encoding="utf-8") as file:
        recorded = set(file.read().split())
    lines = list(differences(shown, recorded))
    for line in lines:
        print(f"{library}: {line} ({record})", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
