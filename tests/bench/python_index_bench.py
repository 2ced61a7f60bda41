#!/usr/bin/python3
"""What forming an execution index costs in CPython: 30 Python frames, all of them kept; and 30 of which 25 are a
library's. Median, first call aside. Options: --build DIR, --bound MICROSECONDS (15). Exit code 1 if missed."""
import argparse
import ctypes
import pathlib
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--build", default="build")
parser.add_argument("--bound", type=float, default=15.0)
options = parser.parse_args()
library = ctypes.CDLL(str(pathlib.Path(__file__).resolve().parents[2] / options.build / "tests" / "libindex_bench.so"))
library.index_bench_median.restype = ctypes.c_double
library.index_bench_prepare()
frames = ctypes.c_int()

SOURCE = """
def descend(depth):
    if depth == 0:
        return next()
    return descend(depth - 1)
"""


def at_depth(depth, file, then):
    names = {"next": then}
    exec(compile(SOURCE, file, "exec"), names)
    return names["descend"](depth - 1)


def measure():
    return library.index_bench_median(20000, ctypes.byref(frames)) / 1000


missed = False
# Besides `descend` there are five frames: measure or the lambda, at_depth, the call of it, the module.
for name, run in (("30 kept", lambda: at_depth(26, __file__, measure)),
                  ("5 kept of 30", lambda: at_depth(26, "/usr/lib/python3/dist-packages/x.py", measure))):
    microseconds = run()
    missed |= microseconds > options.bound
    print(f"index, CPython, {name} ({frames.value} frames): {microseconds:.2f} us (bound {options.bound:.1f})")
sys.exit(missed)
