#!/usr/bin/python3
"""What a test of a suite takes when `filibuster suite` runs it, beside the same command alone.

A test GETs a small service ten times. In every round, for pytest and for mocha: the runner's command with the service up and nothing
preloaded, twice (the second is the control), and one `filibuster suite --policy P3`, of which count the last execution without faults and
the one whose first call gets a 503 at once, so that no fault waits.
Options: --rounds N (at least 30 for a verdict), --build DIR. Exit code 1 if a ratio's lower end is above 1.15.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import load_bench
import stats

BOUND = 1.15
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SERVER = REPOSITORY / "tests/integration/apps/retried.py"

PYTHON = """
import os, urllib.error, urllib.request
def ask():
    try:
        return urllib.request.urlopen(os.environ["SHOP_URL"] + "/ok").status
    except urllib.error.HTTPError as error:
        return error.code
"""
PYTEST = """
from shop import ask
def test_ask():
    for _ in range(10):
        assert ask() in (200, 503)
"""
NODE = "exports.ask = async () => (await fetch(process.env.SHOP_URL + '/ok')).status;\n"
MOCHA = """
const { ask } = require('../shop.js');
it('asks', async () => { for (let i = 0; i < 10; ++i) if (![200, 503].includes(await ask())) throw new Error('another status'); });
"""
# The files of a suite, the program of its configuration, and the command that runs its test alone.
SUITES = {
    "pytest": ({"shop.py": PYTHON, "tests/test_shop.py": PYTEST}, "/usr/bin/python3 -m pytest",
               "PYTHONPATH=. exec /usr/bin/python3 -m pytest -q --junitxml=plain.xml tests/test_shop.py"),
    "mocha": ({"shop.js": NODE, "tests/shop.test.js": MOCHA}, "node node_modules/mocha/bin/mocha.js",
              "exec node node_modules/mocha/bin/mocha.js --reporter xunit --reporter-option output=plain.xml tests/shop.test.js"),
}


class Suite:
    def __init__(self, build, runner, folder, port):
        self.build, self.folder = build, pathlib.Path(folder)
        files, program, self.alone = SUITES[runner]
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        packages = build / "tests/suites/node_modules"
        if runner == "mocha":
            (self.folder / "node_modules").symlink_to(packages)
        self.environment = {**os.environ, "SHOP_URL": f"http://127.0.0.1:{port}"}
        (self.folder / "filibuster.json").write_text(json.dumps({
            "version": 1, "services": [{"name": "shop", "command": f"exec /usr/bin/python3 {SERVER} ${{port:shop}}", "third_party": True}],
            "tests": [{"runner": runner, "path": "tests", "program": program,
                       "env": {"SHOP_URL": "http://127.0.0.1:${port:shop}", **({"PYTHONPATH": "."} if runner == "pytest" else {})}}]}))

    def plain(self):
        begin = time.monotonic()
        subprocess.run(["/bin/sh", "-c", self.alone], cwd=self.folder, env=self.environment, check=True, stdout=subprocess.DEVNULL)
        return 1000 * (time.monotonic() - begin)

    def visit(self):
        """Milliseconds without faults, and with the fault."""
        ran = subprocess.run([self.build / "bin/filibuster", "suite", "--policy", "P3"], cwd=self.folder, capture_output=True, text=True)
        report = json.loads((self.folder / ".filibuster/suite.json").read_text())
        if ran.returncode != 0 or len(report["faults"]) != 1:
            sys.exit(f"the suite ended with {ran.returncode}, {len(report['faults'])} faults:\n{ran.stdout}{ran.stderr}")
        return 1000 * report["tests"][0]["seconds"], 1000 * report["faults"][0]["seconds"]


def measure(build, runner, rounds):
    port = load_bench.free_port()
    server = subprocess.Popen(["/usr/bin/python3", SERVER, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    load_bench.started(server, port, "retried.py")
    try:
        with tempfile.TemporaryDirectory() as folder:
            suite, faulted = Suite(build, runner, folder, port), []

            def visit(name):
                if name != "without faults":
                    return suite.plain()
                without, with_fault = suite.visit()
                faulted.append(with_fault)
                return without
            times = stats.interleaved(["plain", "control", "without faults"], rounds, visit)
    finally:
        server.kill()
        server.wait()
    control = stats.compare("control (plain against itself)", times["plain"], times["control"])
    print(f"a test of {runner}: plain {control.base:.0f} ms, {rounds} rounds\n  {control.text('ms')}")
    missed = False
    for name, values in (("in a suite, without faults", times["without faults"]), ("in a suite, a 503 at its first call", faulted)):
        found = stats.compare(name, times["plain"], values)
        print("  " + found.text("ms", control), flush=True)
        missed = missed or found.low > BOUND
    return missed


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    given = options.parse_args()
    return 1 if sum([measure(REPOSITORY / given.build, runner, given.rounds) for runner in SUITES]) else 0


if __name__ == "__main__":
    sys.exit(main())
