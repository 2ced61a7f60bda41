#!/usr/bin/env python3
"""Prints which folder of the sources includes files of which other folder, and fails on a cycle.

A folder is a directory that holds C++ files. Its parent is another folder: core/ and core/text/ are two.
The exit code is 0 if folders can be ordered so that each includes only earlier ones, but for the edges in
KNOWN_BACK_EDGES. It is 1 if they cannot; then every `#include` line that takes part in a cycle is printed. It is
also 1 if an edge of that list makes no cycle any more, so that the list can only become shorter.
"""

import argparse
import collections
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
ROOTS = ("core", "preload", "daemon", "cli", "bpf")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')

# Edges that close a cycle and are not broken yet. Nearly all of them exist because preload/rpc/agent.h declares what
# the hooks need of four folders, which these folders implement.
KNOWN_BACK_EDGES = frozenset({
    ("preload/os", "preload/rpc"),  # implements the descriptors and own_process() of agent.h
    ("preload/os", "preload/session"),
    ("preload/session", "preload/rpc"),  # implements the session part of agent.h
    ("preload/session", "preload/runtimes"),  # registration installs the runtimes
    ("preload/rpc", "preload/runtimes"),  # an RPC asks for its call stack and its task
    ("preload/rpc", "preload/runtimes/jvm"),
    ("preload/runtimes", "preload/runtimes/node"),  # the table of task readers
    ("preload/runtimes/node", "preload/stream"),  # the addon asks which connection a descriptor is
    ("preload/protocols/http1", "preload/protocols/http2"),  # Upgrade: h2c
})


def includes(root):
    """Yields (including file, line number, included file) for each file of the sources that includes another one."""
    for top in ROOTS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".cc", ".h", ".c") or not path.is_file():
                continue
            name = path.relative_to(root)
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                # A file that is not there is made by the build (classes.inc), and includes nothing.
                if match and (root / match[1]).is_file():
                    yield name, number, pathlib.PurePath(match[1])


def edges_of(root):
    """Maps (including folder, included folder) to the include lines between them, as "file:line includes file"."""
    edges = collections.defaultdict(list)
    for name, number, included in includes(root):
        if name.parent != included.parent:
            edges[str(name.parent), str(included.parent)].append(f"{name}:{number} includes {included}")
    return edges


def components(edges):
    """The sets of folders that reach each other (strongly connected components of more than one folder)."""
    following = collections.defaultdict(set)
    for source, target in edges:
        following[source].add(target)

    def reached_from(start):
        seen, waiting = set(), [start]
        while waiting:
            for target in following[waiting.pop()]:
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return seen

    reached = {folder: reached_from(folder) for folder in sorted({f for edge in edges for f in edge})}
    found = []
    for folder in reached:
        if folder in reached[folder] and not any(folder in component for component in found):
            found.append({other for other in reached[folder] if folder in reached[other]})
    return found


def wrong(edges, known):
    """What is wrong with a graph, a line each; `known` are the edges that may close a cycle."""
    in_a_cycle = components(edges)
    for source, target in sorted(known):
        if not any(source in component and target in component for component in in_a_cycle):
            yield f"{source} -> {target} makes no cycle any more: remove it from KNOWN_BACK_EDGES"
    edges = {edge: lines for edge, lines in edges.items() if edge not in known}
    for component in components(edges):
        yield f"cycle: {', '.join(sorted(component))}"
        for (source, target), lines in sorted(edges.items()):
            if source in component and target in component:
                yield f"  {source} -> {target}"
                yield from (f"    {line}" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quiet", action="store_true", help="prints only what is wrong")
    options = parser.parse_args()
    edges = edges_of(TOP)
    if not options.quiet:
        for (source, target), lines in sorted(edges.items()):
            print(f"{source} -> {target} ({len(lines)})")
    lines = list(wrong(edges, KNOWN_BACK_EDGES))
    for line in lines:
        print(line, file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
