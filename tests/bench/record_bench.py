#!/usr/bin/python3
"""What recording a service costs, and how fast its cases are replayed (docs/record.md), with corpus/tickets in C++.

- A sale (a request and three calls to Redis) alone, in a session, and while it is recorded: the median of a client that asks one request after the
  other. Bound: 5 us an operation.
- Requests that take a millisecond or more, from two clients: at least 0.9 of what is answered without the tool.
- Cases replayed a second on one processor, on which the service, the daemon and the client are: at least 200.
- Each kept case replayed 100 times, in Python and in C++: at least 99 % of them pass each time.

In every round each way is measured once, and the first one again as the control. Options: --rounds N (at least 30 for a verdict), --replays N,
--build DIR, --json FILE.
"""
import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import stats
from tickets_application import REPOSITORY, Application

OPERATIONS, SALES = 4, 1000
ADDED_US = 5
SLOW, CLIENTS, THROUGHPUT = 1000, 2, 0.9
CASES, CASES_A_SECOND = 400, 200
ALWAYS = 0.99


def added(application, rounds, report):
    """What recording adds to an operation, beside no tool and beside a session. Whether the bound is kept."""
    results = stats.interleaved(["plain", "control", "session", "record"], rounds,
                                lambda way: statistics.median(application.latencies({"control": "plain"}.get(way, way))))
    control = stats.compare("a sale: control", results["plain"], results["control"])
    print(control.text("us"))
    rows = [("a sale in a session", "plain", "session"), ("a sale, recorded", "plain", "record"), ("recorded, beside a session", "session", "record")]
    for name, base, way in rows:
        found = stats.compare(name, results[base], results[way])
        report[name] = vars(found)
        print(found.text("us", control), flush=True)
        print(f"  an operation, of {OPERATIONS}: {found.added / OPERATIONS:+.2f} us [{found.added_low / OPERATIONS:+.2f}, {found.added_high / OPERATIONS:+.2f}]")
    return held(f"recording adds {ADDED_US} us to an operation at most", report["recorded, beside a session"]["added_low"] / OPERATIONS <= ADDED_US)


def throughput(application, rounds, report):
    application.config["tests"][0]["env"] |= {"CLIENTS": str(CLIENTS)}
    results = stats.interleaved(["plain", "control", "record"], rounds, lambda way: CLIENTS * 1e6 / statistics.mean(
        application.latencies({"control": "plain"}.get(way, way))))
    control = stats.compare("slow requests: control", results["plain"], results["control"])
    print(control.text("requests/s"))
    found = stats.compare("slow requests, recorded", results["plain"], results["record"])
    report[found.name] = vars(found)
    print(found.text("requests/s", control), flush=True)
    return held(f"{THROUGHPUT} of the throughput while it is recorded", found.high >= THROUGHPUT)


def recorded(application):
    run = application.filibuster("record", "--service", "tickets", "--out", "cases", "--max-cases", 100_000)
    if run.returncode != 0:
        sys.exit(run.stdout + run.stderr)
    return application


def verify(application, *options, before=()):
    """verify.json, and how long it took."""
    begin = time.perf_counter()
    run = subprocess.run([*before, application.build / "bin/filibuster", "verify", "cases", "-c", "filibuster.json", "-q", *options],
                         cwd=application.folder, capture_output=True, text=True, timeout=600)
    took = time.perf_counter() - begin
    if run.returncode not in (0, 1):
        sys.exit(run.stdout + run.stderr)
    return json.loads((application.folder / ".filibuster/verify.json").read_text()), took


def replays(application, rounds, report):
    """A replay of all cases beside one of a single case: the difference is what the others take."""
    on_one = ["taskset", "-c", str(max(os.sched_getaffinity(0)))]
    found, _ = verify(application)
    first = pathlib.Path(next(row["file"] for row in found["cases"] if "post-tickets/" in row["file"])).stem
    others = len(found["cases"]) - 1
    options = {"all": [], "control": [], "one": ["--case", first]}
    results = stats.interleaved(list(options), rounds, lambda way: verify(application, *options[way], before=on_one)[1])
    ways = {name: [others / (whole - one) for whole, one in zip(results[name], results["one"], strict=True)] for name in ("all", "control")}
    control = stats.compare("replays: control", ways["all"], ways["control"])
    print(control.text("cases/s"))
    low, high = stats.bootstrap(ways["all"])
    report["replays"] = {"cases_a_second": control.base, "low": low, "high": high, "cases": others + 1}
    print(f"cases replayed a second and processor: {control.base:.0f} [{low:.0f}, {high:.0f}], of {others + 1} cases, {statistics.median(results['one']):.2f} s for one alone",
          flush=True)
    return held(f"{CASES_A_SECOND} cases a second and processor", high >= CASES_A_SECOND)


def repeated(application, language, times, report):
    """Each case so often in a row."""
    failed, cases = collections.Counter(), set()
    for _ in range(times):
        found, _ = verify(application)
        for row in found["cases"]:
            cases.add(row["file"])
            failed[row["file"]] += row["judged"] != "passed"
    sound = sum(failed[file] == 0 for file in cases)
    report[f"{times} replays, {language}"] = {"cases": len(cases), "passed_each_time": sound, "failed": {file: n for file, n in failed.items() if n}}
    print(f"{language}: {sound} of {len(cases)} cases passed {times} times in a row", flush=True)
    for file, number in failed.most_common(5):
        if number:
            print(f"  {file}: did not pass {number} times")
    return held(f"{100 * ALWAYS:.0f} % of the cases pass {times} times in a row", bool(cases) and sound / len(cases) >= ALWAYS)


def held(what, is_held):
    print(f"{'held' if is_held else 'missed'}: {what}", flush=True)
    return is_held


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--replays", type=int, default=100)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    options.add_argument("--json")
    given = options.parse_args()
    build = REPOSITORY / given.build
    report = {}
    with tempfile.TemporaryDirectory() as folder:
        met = [added(Application(f"{folder}/sales", build, "cpp", [SALES, "buy"]), given.rounds, report),
               throughput(Application(f"{folder}/slow", build, "cpp", [SLOW, "quote"], DELAY_MS="1"), given.rounds, report),
               replays(recorded(Application(f"{folder}/many", build, "cpp", [CASES])), given.rounds, report)]
        met += [repeated(recorded(Application(f"{folder}/{language}", build, language, [100])), language, given.replays, report)
                for language in ("python", "cpp")]
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(report, indent=1), encoding="utf-8")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
