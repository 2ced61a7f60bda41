#!/usr/bin/env python3
"""Reads what `make -n -B` would run, and prints compile_commands.json: each file with the flags that the Makefile
gives it. A file that is compiled twice (core/ stands in the preload, too) has its first command."""

import json
import os
import shlex
import sys


def entries(lines, directory):
    """Yields an entry for each source file that one of the lines compiles."""
    seen = set()
    for line in lines:
        try:
            words = shlex.split(line)
        except ValueError:  # a part of a recipe of several lines, which is no compile command
            continue
        if words[:1] == ["ccache"]:
            words = words[1:]
        source = words[words.index("-c") + 1] if "-c" in words[:-1] else ""
        if source.endswith((".cc", ".c")) and source not in seen:
            seen.add(source)
            yield {"directory": directory, "file": source, "arguments": words}


def main():
    found = list(entries(sys.stdin, os.getcwd()))
    if not found:
        sys.exit("no compile commands on standard input: it is the output of `make -n -B` with objects as targets")
    json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
