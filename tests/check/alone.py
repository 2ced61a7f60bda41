#!/usr/bin/env python3
"""alone.py BASE JOBS: compiles each by itself the files that lean on a header whose includes differ from the commit BASE.
A whole build compiles files of a folder together, where a file finds what its neighbours include; clang-tidy
looks at the files that were changed, and this at the others that may lack something now. Nothing is written."""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
CHANGED = re.compile(r"^[-+]\s*#\s*include\b", re.MULTILINE)


def headers_with_other_includes(difference):
    """The headers of a `git diff` in which a line with an #include came or went."""
    found = set()
    for part in re.split(r"^diff --git ", difference, flags=re.MULTILINE)[1:]:
        name = part.split("\n", 1)[0].split(" b/", 1)[1]
        if name.endswith(".h") and CHANGED.search(part):
            found.add(name)
    return found


def leaning(headers, includes):
    """The files of `includes` (file -> what it includes) that include one of the headers, directly or through others."""
    reached = set(headers)
    while True:
        more = {file for file, names in includes.items() if file not in reached and not reached.isdisjoint(names)}
        if not more:
            return reached
        reached |= more


def compiles(entry):
    arguments = [word for word in entry["arguments"] if word not in ("-c", "-MMD", "-MP")]
    at = arguments.index("-o")
    done = subprocess.run(arguments[:at] + arguments[at + 2:] + ["-fsyntax-only"], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{entry['file']} does not compile by itself:\n{done.stderr}", file=sys.stderr)
    return done.returncode == 0


def main(base, jobs):
    difference = subprocess.run(["git", "diff", "-U0", base, "--", "*.h"], check=True, capture_output=True, text=True).stdout
    headers = headers_with_other_includes(difference)
    if not headers:
        return 0
    names = subprocess.run(["git", "ls-files", "*.cc", "*.h"], check=True, capture_output=True, text=True).stdout.split("\n")
    includes = {}
    for name in filter(os.path.exists, names):
        with open(name, encoding="utf-8") as file:
            includes[name] = set(INCLUDE.findall(file.read()))
    files = leaning(headers, includes)
    with open("compile_commands.json", encoding="utf-8") as file:
        entries = [entry for entry in json.load(file) if entry["file"] in files]
    with ThreadPoolExecutor(jobs) as pool:
        return 0 if all(list(pool.map(compiles, entries))) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
