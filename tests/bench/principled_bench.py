#!/usr/bin/python3
"""What principled testing costs (docs/principled.md): an execution of a native service whose dependency is a stub, beside the same with
a native service as the dependency; and calls to a stub a second, beside a server of Node that answers the same.

The test is a class for pytest, whose process stays, so that no start of an interpreter is measured. In every round each way is
measured once, and the first one again as the control. Options: --rounds N (at least 30 for a verdict), --build DIR.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import stats

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"
STATUSES = 40
CONNECTIONS, SECONDS = 16, 1
TEST = f'''
import os
import urllib.error
import urllib.request

from filibuster_principled import PrincipledTest


class TestFront(PrincipledTest):
    def failure_block(self):
        self.assert_fault_throws("GET /", 503)
        self.assert_on_exception(503, lambda: None)

    def execute_block(self):
        try:
            urllib.request.urlopen(os.environ["FRONT"]).read()
        except urllib.error.HTTPError:
            pass

    def assert_stub_block(self):
        self.verify_that("GET /", 1)
'''
NODE = "require('http').createServer((q, s) => s.end('ten')).listen(+process.argv[1], '127.0.0.1')"


def services(build, stub):
    relay = build / "tests/programs/relay"
    stock = {"name": "stock", "stubs": [{"method": "GET", "path": "/", "answer": {"text": "ten"}}]} if stub else {
        "name": "stock", "command": f"exec {relay} ${{port:stock}}"}
    return [stock, {"name": "front", "command": f"exec {relay} ${{port:front}} --call http://127.0.0.1:${{port:stock}}/"}]


class Folder:
    """An application in a folder of its own."""

    def __init__(self, build, folder, config):
        self.build, self.folder = build, pathlib.Path(folder)
        self.folder.mkdir()
        (self.folder / "test_front.py").write_text(TEST)
        (self.folder / "filibuster.json").write_text(json.dumps({"version": 1, **config}))

    def run(self, verb):
        return subprocess.run([self.build / "bin/filibuster", verb, "-q"], cwd=self.folder, capture_output=True, text=True, timeout=300)


def milliseconds(application):
    """The median of an execution under a fault."""
    run = application.run("principled")
    if run.returncode != 0:
        sys.exit(run.stdout + run.stderr)
    (test,) = json.loads((application.folder / ".filibuster/principled.json").read_text())["tests"]
    return statistics.median(1000 * one["seconds"] for one in test["executions"][1:])


def calls_a_second(application):
    """What the test, a load generator that is not followed, says."""
    run = application.run("trace")
    log = application.folder / "wrk.txt"
    found = re.search(r"Requests/sec:\s+([0-9.]+)", log.read_text() if log.exists() else "")
    if not found:
        sys.exit(run.stdout + run.stderr)
    return float(found[1])


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    given = options.parse_args()
    build = REPOSITORY / given.build
    with tempfile.TemporaryDirectory() as folder:
        principled = [{"name": "front", "principled": True, "command": [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p",
                                                                        "filibuster_principled", "test_front.py"],
                       "env": {"FRONT": "http://127.0.0.1:${port:front}", "PYTHONPATH": str(REPOSITORY / "cli/python")}}]
        faults = [{"on": {"caller": "front"}, "inject": [f"status:{500 + n}" for n in range(STATUSES)]}]
        ways = {name: Folder(build, f"{folder}/{name}", {"services": services(build, name == "stub"), "tests": principled, "faults": faults})
                for name in ("service", "stub")}
        results = stats.interleaved(["service", "control", "stub"], given.rounds, lambda way: milliseconds(ways[{"control": "service"}.get(way, way)]))
        control = stats.compare("control", results["service"], results["control"])
        print(control.text("ms"))
        print(stats.compare("an execution with a stub", results["service"], results["stub"]).text("ms", control), flush=True)

        # The test's own calls are not followed, and neither is the server of Node: what counts is who answers.
        load = f"exec env -u LD_PRELOAD wrk -t1 -c{CONNECTIONS} -d{SECONDS}s http://127.0.0.1:${{port:stock}}/ > wrk.txt"
        node = {"name": "stock", "interpose": False, "command": ["node", "-e", NODE, "${port:stock}"]}
        servers = {"node": Folder(build, f"{folder}/node", {"services": [node], "tests": [{"name": "load", "command": load}]}),
                   "stub": Folder(build, f"{folder}/stub-load", {"services": services(build, True)[:1], "tests": [{"name": "load", "command": load}]})}
        results = stats.interleaved(["node", "control", "stub"], given.rounds, lambda way: calls_a_second(servers[{"control": "node"}.get(way, way)]))
        control = stats.compare("control", results["node"], results["control"])
        print(control.text("calls/s"))
        stub = stats.compare("calls to a stub", results["node"], results["stub"])
        print(stub.text("calls/s", control))
    slow = stub.value < 10_000
    print(f"{'missed' if slow else 'held'}: 10,000 calls to stubs a second ({stub.value:.0f})")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
