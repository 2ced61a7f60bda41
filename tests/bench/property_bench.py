#!/usr/bin/python3
"""How many programs a second a property-based test executes against a native service (corpus/ledger), beside the same client asked as many
commands with the same services and nothing of Filibuster.

What a session takes at its begin is not counted: each figure is the difference of a long and a short run. In every round each way is measured
once, and the first one again as the control. Options: --rounds N (at least 30 for a verdict), --build DIR.
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import stats

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LEDGER = REPOSITORY / "corpus/ledger"
SHORT, LONG = 5, 65  # programs
BOUND = 50  # programs a second


class Tested:
    def __init__(self, build, folder):
        self.build, self.root = build, folder
        self.commands = 0  # of a program, as it came out

    def run(self, programs):
        begin = time.perf_counter()
        ended = subprocess.run([self.build / "bin/filibuster", "property", "-q", "--root", self.root, "-c", LEDGER / "filibuster.json", "--seed", "1",
                                "--tests", str(programs)], capture_output=True, text=True, timeout=300)
        if ended.returncode != 0:
            sys.exit(ended.stdout + ended.stderr)
        (test,) = json.loads((pathlib.Path(self.root) / "property.json").read_text())["tests"]
        return time.perf_counter() - begin, sum(test["commands"].values())

    def milliseconds(self):
        (short, few), (long, many) = self.run(SHORT), self.run(LONG)
        self.commands = (many - few) / (LONG - SHORT)
        return 1000 * (long - short) / (LONG - SHORT)


class Alone:
    """The services and the client, asked in the same lines."""

    def __init__(self, build, stack):
        accounts, teller = free_port(), free_port()
        url = f"http://127.0.0.1:{accounts}"
        for command, env in [([build / "corpus/ledger/accounts", str(accounts)], {}), ([build / "corpus/ledger/teller", str(teller)], {"ACCOUNTS_URL": url})]:
            process = subprocess.Popen(command, env={**os.environ, **env})
            stack.callback(process.wait)
            stack.callback(process.kill)
        for port in (accounts, teller):
            wait_until_it_answers(port)
        self.client = stack.enter_context(subprocess.Popen(
            ["/usr/bin/python3", LEDGER / "client.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "TELLER_URL": f"http://127.0.0.1:{teller}", "PYTHONPATH": str(REPOSITORY / "cli/python")}))
        stack.callback(self.client.stdin.close)

    def ask(self, question):
        self.client.stdin.write(json.dumps(question) + "\n")
        self.client.stdin.flush()
        return self.client.stdout.readline()

    def milliseconds(self, commands):
        drawn = random.Random(1)
        begin = time.perf_counter()
        for _ in range(LONG - SHORT):
            self.ask({"do": "reset"})
            for number in range(round(commands)):
                source, target = drawn.sample("ABC", 2)
                transfer = {"do": "transfer", "value": {"from": source, "to": target, "amount": drawn.randint(1, 60)}, "process": "0"}
                self.ask(transfer if number % 5 < 3 else {"do": "balance", "value": source, "process": "0"})
        return 1000 * (time.perf_counter() - begin) / (LONG - SHORT)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_it_answers(port):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.suppress(urllib.error.URLError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health").read()
            return
        time.sleep(0.02)
    sys.exit(f"nothing answers at port {port}")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    given = options.parse_args()
    build = REPOSITORY / given.build
    with contextlib.ExitStack() as stack:
        tested = Tested(build, stack.enter_context(tempfile.TemporaryDirectory()))
        alone = Alone(build, stack)
        tested.milliseconds()  # how many commands a program has
        ways = {"alone": lambda: alone.milliseconds(tested.commands), "property": tested.milliseconds}
        results = stats.interleaved(["alone", "control", "property"], given.rounds, lambda way: ways[{"control": "alone"}.get(way, way)]())
    control = stats.compare("control", results["alone"], results["control"])
    print(control.text("ms"))
    with_tool = stats.compare(f"a program of {tested.commands:.1f} commands", results["alone"], results["property"])
    print(with_tool.text("ms", control))
    rate = 1000 / with_tool.value
    print(f"{'missed' if rate < BOUND else 'held'}: {BOUND} programs a second ({rate:.0f})")
    return 1 if rate < BOUND else 0


if __name__ == "__main__":
    sys.exit(main())
