#!/usr/bin/python3
"""What Node's helper costs: in a session, taking the call site and the cause of a request 30 frames deep (bound:
50 microseconds; what the library adds when the request is written is measured by preload_bench); without one, the start
of `node -e 0` with the library beside the one without.

Options: --rounds N, --build DIR. Exit code 1 if a bound is missed.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import stats

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
INDEX_BOUND = 50.0  # microseconds
START_BOUND = 5.0  # milliseconds

parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=30)
parser.add_argument("--build", default="build")
options = parser.parse_args()
build = REPOSITORY / options.build
node = shutil.which("node") or sys.exit("no node on the PATH")

with tempfile.TemporaryDirectory() as directory:
    output = pathlib.Path(directory) / "output"
    command = f"{node} {REPOSITORY}/tests/bench/node_index_bench.js {options.rounds} > {output}"
    # No RPC is seen: the tool says so; what counts is the output.
    subprocess.run([build / "bin" / "filibuster", "trace", "--root", directory, "--", "sh", "-c", command],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    found = json.loads(output.read_text())

index = statistics.median(found["index"])
low, high = stats.bootstrap(found["index"])
print(f"call site and cause, 30 frames: {index:.1f} us [{low:.1f}, {high:.1f}]  "
      f"control {statistics.median(found['control']):.1f} us, again {statistics.median(found['again']):.1f} us  "
      f"(bound {INDEX_BOUND:.0f} us)")


def start(name):
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    if name == "preloaded":
        environment |= {"LD_PRELOAD": str(build / "lib" / "libfilibuster.so"), "FILIBUSTER_DAEMON": "unix:/nonexistent"}
    begin = time.perf_counter()
    subprocess.run([node, "-e", "0"], env=environment, check=True)
    return 1000 * (time.perf_counter() - begin)


times = stats.interleaved(["plain", "control", "preloaded"], options.rounds, start)
control = stats.compare("node -e 0, again", times["plain"], times["control"])
print(control.text("ms"))
started = stats.compare("node -e 0, preloaded, no session", times["plain"], times["preloaded"])
print(started.text("ms", control) + f"  (bound +{START_BOUND:.0f} ms)")
sys.exit(0 if index <= INDEX_BOUND and started.added_low <= START_BOUND else 1)
