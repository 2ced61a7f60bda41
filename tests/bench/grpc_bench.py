#!/usr/bin/python3
"""What the preload adds to a unary gRPC call of a C++ client to a C++ server, both preloaded: in one process, and each in
a process of its own. Interleaved rounds with a control.

    grpc_bench.py                          plain, plain again (control), preloaded without a session
    filibuster trace -- grpc_bench.py --session
                                           in a session without faults too
Options: --rounds N (at least 30 for a verdict), --build DIR, --output FILE.
Exit code 1 if a bound of docs/benchmarks.md is exceeded by the lower end of its interval.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import preload_bench
import stats

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BOUNDS_US = {"no session": 2, "session": 15}
PLACES = {"in one process": [], "each in a process of its own": ["apart"]}
MEASURES = {"us_per_call": "on the clock", "processor_us_per_call": "of the processor, client and server",
            "client_us_per_call": "of the processor, client alone", "server_us_per_call": "of the processor, server alone"}


def run(worker, words, environment):
    result = subprocess.run([worker, "20", "100", "10", *words], env=environment, capture_output=True, text=True,
                            timeout=120)
    if result.returncode != 0:
        sys.exit(f"{worker}: {result.stderr or result.returncode}")
    return json.loads(result.stdout)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    options.add_argument("--session", action="store_true")
    options.add_argument("--output", help="write the text there: a session keeps what its test prints")
    given = options.parse_args()
    if given.output:
        sys.stdout = open(given.output, "w", encoding="utf-8")
    if given.session and "FILIBUSTER_DAEMON" not in os.environ:
        sys.exit("--session: run this as a test of a session (filibuster trace -- ... --session)")
    build = REPOSITORY / given.build
    missed = []
    with tempfile.TemporaryDirectory() as nowhere:
        variants = preload_bench.environments(build / "lib/libfilibuster.so", given.session, nowhere)
        variants.pop("session, no stack", None)
        found = {place: stats.interleaved(list(variants), given.rounds,
                                          lambda name, words=words: run(build / "tests/grpc_bench", words, variants[name]))
                 for place, words in PLACES.items()}
    for place, results in found.items():
        for measure, what in MEASURES.items():
            if measure not in results["plain"][0]:
                continue
            times = {name: [result[measure] for result in of_name] for name, of_name in results.items()}
            control = stats.compare("control (plain against itself)", times["plain"], times["control"])
            print(f"unary call, {place}, {what}: plain {control.base:.1f} us, {given.rounds} rounds")
            print("  " + control.text("us"))
            for name in list(variants)[2:]:
                compared = stats.compare(name, times["plain"], times[name])
                print("  " + compared.text("us", control))
                if compared.added_low > BOUNDS_US[name]:
                    missed.append(f"{name}, {place}, {what}: {compared.added:.1f} us added, bound {BOUNDS_US[name]} us")
    for line in missed:
        print("missed: " + line)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
