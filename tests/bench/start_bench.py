#!/usr/bin/python3
"""What the library adds to the start of a native process, without a session: /bin/true from its fork to its end, in interleaved
rounds with a control. (Node: node_index_bench.py.)

Options: --rounds N (at least 30 for a verdict), --build DIR. Exit code 1 if the bound is missed.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import preload_bench
import stats

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BOUND = 3.0  # milliseconds
STARTS = 20  # of one visit


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as nowhere:
        variants = preload_bench.environments(REPOSITORY / given.build / "lib/libfilibuster.so", False, nowhere)

        def visit(name):
            begin = time.perf_counter()
            for _ in range(STARTS):
                subprocess.run(["/bin/true"], env=variants[name], check=True)
            return 1000 * (time.perf_counter() - begin) / STARTS

        times = stats.interleaved(list(variants), given.rounds, visit)
    control = stats.compare("control (plain against itself)", times["plain"], times["control"])
    found = stats.compare("preloaded, no session", times["plain"], times["no session"])
    print(f"/bin/true: plain {control.base:.2f} ms, {given.rounds} rounds of {STARTS} starts")
    print("  " + control.text("ms"))
    print("  " + found.text("ms", control) + f"  (bound +{BOUND:.0f} ms)")
    sys.exit(1 if found.added_low > BOUND else 0)


if __name__ == "__main__":
    main()
