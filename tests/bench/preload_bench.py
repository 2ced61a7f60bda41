#!/usr/bin/python3
"""What the preload costs in a tight loop, in interleaved rounds with a control.

    preload_bench.py                    plain, plain again (control), preloaded without a session
    filibuster trace -- preload_bench.py --session
                                        inside a session without faults too: the environment that a test
                                        gets from the daemon is given on to those workers; once
                                        more without an unwinder, to tell the call stack's share
Options: --rounds N (at least 30 for a verdict), --build DIR, --json FILE, --output FILE.
Exit code 1 if a bound of docs is exceeded by the lower end of its interval.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import stats

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
ADDED_PER_CALL_NS = 20       # without a session; on what is no socket, also in one
ADDED_PER_CLOCK_NS = 20      # a read of the time of day
ADDED_PER_MESSAGE_NS = 1500  # in a session, without the call stack
ADDED_OVER_TLS_NS = 3000     # in a session


def environments(preload, session, nowhere):
    """The environment of each variant. Without a session: an agent that looks where no daemon is."""
    clean = {k: v for k, v in os.environ.items()
             if not k.startswith("FILIBUSTER_") and k != "LD_PRELOAD"}
    found = {"plain": clean, "control": clean,
             "no session": clean | {"LD_PRELOAD": str(preload),
                                    "FILIBUSTER_DAEMON": f"unix:{nowhere}/agent.sock"}}
    if session:
        found["session"] = {**os.environ, "LD_PRELOAD": str(preload)}
        # An empty file in the unwinder's place: the agent goes on without native frames.
        (pathlib.Path(nowhere) / "libunwind.so.8").touch()
        found["session, no stack"] = found["session"] | {"LD_LIBRARY_PATH": str(nowhere)}
    return found


def run(worker, loop, environment, bursts, burst, pause_ms, *to):
    """`to`: what the loop wants before the numbers (a port)."""
    result = subprocess.run([worker, loop, *map(str, (*to, bursts, burst, pause_ms))],
                            env=environment, capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        sys.exit(f"{worker} {loop}: {result.stderr or result.returncode}")
    return json.loads(result.stdout)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    options.add_argument("--session", action="store_true")
    options.add_argument("--json")
    options.add_argument("--output", help="write the text there: a session keeps what its test prints")
    given = options.parse_args()
    if given.output:
        sys.stdout = open(given.output, "w", encoding="utf-8")
    build = REPOSITORY / given.build
    worker, over_tls, preload = build / "tests/preload_bench", build / "tests/tls_bench", build / "lib/libfilibuster.so"
    if given.session and "FILIBUSTER_DAEMON" not in os.environ:
        sys.exit("--session: run this as a test of a session (filibuster trace -- ... --session)")

    missed, report = [], {}
    with tempfile.TemporaryDirectory() as nowhere:
        variants = environments(preload, given.session, nowhere)
        stackless = [name for name in variants if name != "session, no stack"]
        # (loop, program and its loop, result, unit, variants, bursts, burst size, pause, bound by variant)
        loops = [("calls", worker, "calls", "ns_per_call", "ns/call", ["plain", "control", "no session"], 20, 2000, 0,
                  {"no session": ADDED_PER_CALL_NS}),
                 ("calls on a pipe", worker, "pipes", "ns_per_call", "ns/call", stackless, 20, 2000, 0,
                  {"no session": ADDED_PER_CALL_NS, "session": ADDED_PER_CALL_NS}),
                 ("the time of day", worker, "realtime", "ns_per_call", "ns/read", stackless, 20, 20000, 0,
                  {"no session": ADDED_PER_CLOCK_NS, "session": ADDED_PER_CLOCK_NS}),
                 ("the monotonic clock", worker, "monotonic", "ns_per_call", "ns/read", stackless, 20, 20000, 0, {}),
                 ("messages", worker, "messages", "ns_per_message", "ns/message", list(variants), 10, 100, 10,
                  {"session, no stack": ADDED_PER_MESSAGE_NS}),
                 ("messages over OpenSSL", over_tls, "messages", "ns_per_message", "ns/message", list(variants), 10, 100, 10,
                  {"session": ADDED_OVER_TLS_NS})]
        for loop, program, argument, result, unit, names, bursts, burst, pause, bounds in loops:
            times = stats.interleaved(names, given.rounds, lambda name: run(
                program, argument, variants[name], bursts, burst, pause)[result])
            control = stats.compare("control (plain against itself)", times["plain"],
                                    times["control"])
            print(f"{loop}: plain {control.base:.2f} {unit}, {given.rounds} rounds")
            print("  " + control.text(unit))
            report[loop] = {"control": vars(control)}
            for name in names[2:]:
                found = stats.compare(name, times["plain"], times[name])
                print("  " + found.text(unit, control))
                report[loop][name] = vars(found)
                bound = bounds.get(name)
                if name == "session, no stack":
                    share = stats.compare("the call stack alone", times[name], times["session"])
                    print("  " + share.text(unit))
                    report[loop]["stack"] = vars(share)
                if bound is not None and found.added_low > bound:
                    missed.append(f"{loop}, {name}: {found.added:.0f} ns added, bound {bound} ns")
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(report, indent=1))
    for line in missed:
        print("missed: " + line)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
