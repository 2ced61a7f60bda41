#!/usr/bin/python3
"""What the preload adds to a command of Redis, at a client that is preloaded (redis-benchmark, one connection, GET and SET): one
command at a time, and 16 in a pipeline. The server is never preloaded. Interleaved rounds with a control.

    redis_bench.py                         plain, plain again (control), preloaded without a session
    REDIS_BENCH="--rounds 30 --output FILE" filibuster trace -c redis_bench.json
                                           in a session without faults too
Options: --rounds N (at least 30 for a verdict), --build DIR, --port PORT of a server that runs, --output FILE.
Exit code 1 if a bound of docs/benchmarks.md is exceeded by the lower end of its interval.
"""
import argparse
import csv
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import preload_bench
import stats

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BOUNDS_US = {"session": 3}
# {commands in a pipeline: commands of one visit}. redis-benchmark tells the time in whole milliseconds; the daemon keeps what it is
# told of each command of a session.
PIPELINES = {1: 2000, 16: 8000}
PAUSE = 0.1  # seconds after each visit, in which who reads what was reported catches up


def visit(port, pipeline, environment):
    """Microseconds for each command, by its name."""
    result = subprocess.run(["redis-benchmark", "-p", str(port), "-c", "1", "-P", str(pipeline), "-n", str(PIPELINES[pipeline]),
                             "-t", "get,set", "--csv"], env=environment, capture_output=True, text=True, timeout=120)
    rates = {row["test"]: float(row["rps"]) for row in csv.DictReader(result.stdout.splitlines())}
    if result.returncode != 0 or set(rates) != {"GET", "SET"}:
        sys.exit(f"redis-benchmark: {result.stderr or result.stdout or result.returncode}")
    time.sleep(PAUSE)
    return {command: 1e6 / rate for command, rate in rates.items()}


def server():
    """A server of our own, and its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
                               stdout=subprocess.DEVNULL)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return process, port
        except ConnectionRefusedError:
            if process.poll() is not None:
                sys.exit("redis-server did not start")
            time.sleep(0.01)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    options.add_argument("--session", action="store_true")
    options.add_argument("--port", type=int)
    options.add_argument("--output", help="write the text there: a session keeps what its test prints")
    given = options.parse_args()
    if given.output:
        sys.stdout = open(given.output, "w", encoding="utf-8")
    if given.session and "FILIBUSTER_DAEMON" not in os.environ:
        sys.exit("--session: run this as a test of a session (filibuster trace -c redis_bench.json)")
    process, port = (None, given.port) if given.port else server()
    missed = []
    try:
        with tempfile.TemporaryDirectory() as nowhere:
            variants = preload_bench.environments(REPOSITORY / given.build / "lib/libfilibuster.so", given.session, nowhere)
            variants.pop("session, no stack", None)
            found = {pipeline: stats.interleaved(list(variants), given.rounds,
                                                 lambda name, pipeline=pipeline: visit(port, pipeline, variants[name]))
                     for pipeline in PIPELINES}
    finally:
        if process is not None:
            process.terminate()
            process.wait()
    for pipeline, results in found.items():
        for command in ("GET", "SET"):
            times = {name: [result[command] for result in of_name] for name, of_name in results.items()}
            control = stats.compare("control (plain against itself)", times["plain"], times["control"])
            print(f"{command}, -P {pipeline}: plain {control.base:.2f} us for each command, {given.rounds} rounds")
            print("  " + control.text("us"))
            for name in list(variants)[2:]:
                compared = stats.compare(name, times["plain"], times[name])
                print("  " + compared.text("us", control))
                if name in BOUNDS_US and compared.added_low > BOUNDS_US[name]:
                    missed.append(f"{name}, {command}, -P {pipeline}: {compared.added:.2f} us added, bound {BOUNDS_US[name]} us")
    for line in missed:
        print("missed: " + line)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
