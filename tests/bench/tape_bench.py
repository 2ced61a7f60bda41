#!/usr/bin/python3
"""What a recording costs: HTTP/1.1 messages of 300 bytes over loopback, client and server in one process, in an execution
without a recording, with places alone, and with bytes. A message is a request or an answer: two transfers, and one place.

    tape_bench.py [--rounds N] [--build DIR] [--json FILE]
Exit code 1 if the bound is exceeded by the lower end of its interval.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import stats

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
ADDED_PER_MESSAGE_NS = 500  # with bytes


def run(build, what):
    # So many bursts that the tape was written round before most of them: its pages are there.
    worker = f"{build / 'tests/preload_bench'} messages 150 100 2"
    result = subprocess.run([build / "tests/tape_probe", "--quiet", "--record", what, build / "lib/libfilibuster.so", worker],
                            capture_output=True, text=True, timeout=120)
    if result.returncode != 0 or result.stderr:
        sys.exit(f"{what}: {result.stderr or result.returncode}")
    return json.loads(result.stdout)["ns_per_message"]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--build", default="build")
    options.add_argument("--json")
    given = options.parse_args()
    build = REPOSITORY / given.build
    variants = {"nothing": "nothing", "control": "nothing", "places": "places", "bytes": "bytes"}
    times = stats.interleaved(list(variants), given.rounds, lambda name: run(build, variants[name]))
    control = stats.compare("control (no recording against itself)", times["nothing"], times["control"])
    print(f"a message, no recording {control.base:.0f} ns, {given.rounds} rounds")
    print("  " + control.text("ns/message"))
    report = {"control": vars(control)}
    for name in ("places", "bytes"):
        found = stats.compare(name, times["nothing"], times[name])
        print("  " + found.text("ns/message", control))
        report[name] = vars(found)
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(report, indent=1), encoding="utf-8")
    if report["bytes"]["added_low"] > ADDED_PER_MESSAGE_NS:
        print(f"missed: a message with its bytes, bound {ADDED_PER_MESSAGE_NS} ns")
        sys.exit(1)


if __name__ == "__main__":
    main()
