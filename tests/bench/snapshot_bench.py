#!/usr/bin/python3
"""What forking the test, or starting it ahead, saves: executions a second beside plain starts.

In every round each case is explored with --no-snapshot, again (the control), and with --snapshot. What counts is the time of an
execution from its start to the next one (`profile` of report.json), without the executions that are run both ways.
`netflix, whole` is one exploration of its 1,606 executions with a test in Python, in seconds, once.
Options: --case NAME (repeatable), --rounds N (at least 30 for a verdict), --build DIR, --whole.
"""
import argparse
import atexit
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import stats

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TESTS = REPOSITORY / "tests/bench/tests"
sys.path.insert(0, str(REPOSITORY / "tests" / "integration"))
sys.path.insert(0, str(REPOSITORY / "tests" / "reproduce"))
from corpus import in_place  # noqa: E402
from sfit import rules_of_table_7_2  # noqa: E402

RELAY = REPOSITORY / "tests/integration/apps/relay.py"
FRONT = {"FRONT": "http://127.0.0.1:${port:front}/"}


def small(command):
    """front asks a and b; ten faults at each."""
    def relay(name, *calls):
        asked = " ".join(f"--call http://127.0.0.1:${{port:{call}}}/" for call in calls)
        return {"name": name, "command": f"exec /usr/bin/python3 {RELAY} ${{port:{name}}} --timeout 0 --tolerate 1 {asked}"}
    return {"version": 1, "services": [relay("a"), relay("b"), relay("front", "a", "b")],
            "tests": [{"name": "front", "command": command, "env": FRONT}],
            "faults": [{"on": {"caller": "front"}, "inject": [f"status:{status}" for status in range(500, 504)]}]}


def netflix():
    config = in_place(REPOSITORY / "corpus/netflix/filibuster.json")
    config["tests"] = [{"name": "homepage", "command": f"exec /usr/bin/python3 {TESTS}/netflix_homepage.py",
                        "env": {**config["tests"][0]["env"], "PREDICATES": str(REPOSITORY / "cli/python")}}]
    config["faults"], config["default_faults"] = rules_of_table_7_2("netflix", config), False
    return config


def jvm():
    classes = tempfile.mkdtemp(prefix="filibuster-bench-")
    subprocess.run(["javac", "-d", classes, TESTS / "Front.java"], check=True)
    atexit.register(shutil.rmtree, classes)
    return small(f"exec java -cp {classes} Front")


CASES = {
    "cinema-1": lambda: in_place(REPOSITORY / "corpus/cinema-1/filibuster.json"),
    "pytest": lambda: small(f"exec /usr/bin/python3 -m pytest -q -p no:cacheprovider {TESTS}/test_slow_suite.py"),
    "netflix, test in Python": netflix,
    "Node": lambda: small(f"exec node {TESTS}/front.mjs"),
    "JVM": jvm,
}
EXECUTIONS = {"netflix, test in Python": 40}


def explore(build, config, *options):
    with tempfile.TemporaryDirectory() as root:
        path = pathlib.Path(root) / "filibuster.json"
        path.write_text(json.dumps(config))
        run = subprocess.run([build / "bin/filibuster", "run", "--root", f"{root}/state", "-c", path, *options],
                             capture_output=True, text=True, timeout=7200)
        try:
            (test,) = json.loads(pathlib.Path(root, "state", "report.json").read_text())["tests"]
        except (OSError, ValueError):
            sys.exit(f"exit code {run.returncode}\n{run.stdout}{run.stderr}")
        return test


def milliseconds(test):
    return 1000 * sum(test["profile"]["total"].values()) / test["profile"]["executions"]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--case", action="append", choices=CASES)
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    options.add_argument("--whole", action="store_true")
    given = options.parse_args()
    build = REPOSITORY / given.build
    for name in given.case or CASES:
        config = CASES[name]()
        bound = ["--max-executions", str(EXECUTIONS[name])] if name in EXECUTIONS else []
        ways = {"plain": ["--no-snapshot"], "control": ["--no-snapshot"], "snapshot": ["--snapshot"]}
        used = set()

        def measure(way, config=config, bound=bound, ways=ways, used=used):
            test = explore(build, config, *ways[way], *bound)
            used.add(test["start"]["way"])
            return milliseconds(test)

        results = stats.interleaved(list(ways), given.rounds, measure)
        control = stats.compare("control", results["plain"], results["control"])
        print(control.text("ms"))
        saved = stats.compare(f"{name}, an execution", results["plain"], results["snapshot"])
        print(saved.text("ms", control) + f"  {1 / saved.ratio:.1f} times as many a second ({', '.join(sorted(used - {'plain'}))})",
              flush=True)
    if given.whole:
        test = explore(build, netflix(), "--reduce", "off", "--snapshot")
        print(f"netflix, whole, test in Python: {test['counts']['executed']} executions in {test['seconds']['total']:.0f} s, "
              f"{test['start']['way']}, {len(test['findings'])} findings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
