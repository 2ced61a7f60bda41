"""What recording and replaying has to show (`make reproduce-record`), beside the published figures of the tool for Java that replays the traffic of
services: how many requests replay, what recording an operation costs, and why the others are refused. Requests come from a generator
(corpus/tickets/traffic.py) at a bounded rate. Ends with 1 where fewer replay than published, or an operation costs more.

REQUESTS=1000 ROUNDS=3 for a short look."""
import collections
import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/bench"))
import stats  # noqa: E402
from tickets_application import Application  # noqa: E402

BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()
REQUESTS = int(os.environ.get("REQUESTS", "10000"))
ROUNDS = int(os.environ.get("ROUNDS", str(stats.MINIMUM_ROUNDS)))
RATE, CLIENTS = os.environ.get("RATE", "200"), 4
PUBLISHED_SUCCESS, PUBLISHED_MS = 99.0, 1.0
# A sale whose price is in the cache: the request and its three calls.
OPERATIONS, SALES = 4, 200


def cases_in(folder):
    """[(case, whether it is partial)]"""
    return [(json.loads(path.read_text()), path.is_relative_to(folder / "partial")) for path in sorted(folder.rglob("*/*.json"))]


def reason_of(case):
    """Without what differs from case to case."""
    return re.sub(r'"[^"]*"|\d+', "…", case["partial"].split(": call ")[0])[:100]


def filtered(rules):
    """(points of the system without an effect, all of them): each place where random numbers are drawn, the time of day, the name of the machine."""
    effects = [point["effect"] in ("some", "kept", "unknown") for point in rules.get("draws", [])]
    effects += [bool(rules[name]["matters"]) for name in ("time", "host") if name in rules]
    return effects.count(False), len(effects)


def record(language, folder):
    """Whether as many replay as were published."""
    application = Application(folder, BUILD, language, [REQUESTS])
    application.config["tests"][0]["env"] |= {"RATE": RATE, "CLIENTS": str(CLIENTS), "SEED": "42"}
    begin = datetime.datetime.now()
    run = application.filibuster("record", "--service", "tickets", "--out", "cases", "--max-cases", REQUESTS)
    recorded = datetime.datetime.now()
    if run.returncode != 0:
        sys.exit(f"record: exit code {run.returncode}\n{run.stdout}{run.stderr}")
    found = cases_in(pathlib.Path(folder) / "cases")
    kept = [case for case, partial in found if not partial]
    refused = [case for case, partial in found if partial]
    verified = application.filibuster("verify", "cases")
    ended = datetime.datetime.now()
    report = json.loads((pathlib.Path(folder) / ".filibuster/verify.json").read_text())
    passed = {row["file"] for row in report["cases"] if row["judged"] == "passed"}
    seen = sum(json.loads((pathlib.Path(folder) / file).read_text())["seen"] for file in passed)
    rate = 100 * seen / REQUESTS
    print(f"{language}: {REQUESTS} requests, recorded and admitted in {(recorded - begin).seconds} s; verified in {(ended - recorded).seconds} s, "
          f"exit code {verified.returncode}")
    print(f"  cases kept {len(kept)} (with {sum(case['seen'] for case in kept)} requests, {sum('start' in case for case in kept)} behind earlier ones), "
          f"refused {len(refused)}, passed by verify {len(passed)} of {len(report['cases'])}")
    for reason, number in collections.Counter(map(reason_of, refused)).most_common():
        print(f"    refused {number}: {reason}")
    print(f"  success: {rate:.1f} % of the requests are in cases that replay (published {PUBLISHED_SUCCESS} %)", flush=True)
    without, points = filtered(json.loads((pathlib.Path(folder) / "cases/set.json").read_text()))
    print(f"  points of the system without an effect: {without} of {points} (published 73.1 %)", flush=True)
    for row in [row for row in report["cases"] if row["judged"] != "passed"][:5]:
        print(f"    {row['file']}: {row['judged']}: {json.dumps(row)[:300]}")
    return rate >= PUBLISHED_SUCCESS


def cost(language, folder):
    """Whether an operation costs at most what was published."""
    application = Application(folder, BUILD, language, [SALES, "buy"])
    results = stats.interleaved(["plain", "control", "record"], ROUNDS,
                                lambda way: statistics.median(application.latencies({"control": "plain"}.get(way, way))))
    control = stats.compare("  control", results["plain"], results["control"])
    print(control.text("us"))
    found = stats.compare("  a sale while it is recorded", results["plain"], results["record"])
    print(found.text("us", control))
    each = found.added / OPERATIONS / 1000
    print(f"  cost of recording: {each:.4f} ms an operation, of {OPERATIONS} (published {PUBLISHED_MS} ms)", flush=True)
    return each <= PUBLISHED_MS


def main():
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; at most {RATE} requests a second")
    met = []
    with tempfile.TemporaryDirectory() as folder:
        for language in ("python", "cpp"):
            met += [record(language, f"{folder}/{language}"), cost(language, f"{folder}/{language}-cost")]
    print("not measured: the share of internal points that are filtered (published 71.4 %), since replays need none: memory is brought about by "
          "the requests before (set.json has no points of it). The clocks of a service are one point, not one for each call site")
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
