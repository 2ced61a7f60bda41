#!/usr/bin/python3
"""What an execution of an example application costs beside its plain functional test.

In every round: the plain functional test against services that are up and not preloaded, twice (the
second is the control), and one exploration, of which the time from one execution's report to the next
counts: scheduling, the store, the plan, the barrier and quiescence are in it. The timeouts are elapsed
at once where the wait is visible; where it is not (a timer of a JVM), an execution really waits, and
such faults are left out (--fault). The reference execution and the first one (whose start is not
reported) are left out, too.
Options: --application NAME of corpus/ (cinema-1), --executions N of each exploration (0: all of them),
--fault FAULT of the exploration (repeatable; else the application's own), --rounds N (at least 30 for a verdict), --build DIR. Exit code 1 if the ratio's lower end is above 1.1.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import stats

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TESTS_A_ROUND = 9


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                sys.exit(f"nothing listens on {port}")
            time.sleep(0.05)


class Application:
    """The services of an example, without the library, and its functional test."""

    def __init__(self, name):
        self.folder = REPOSITORY / "corpus" / name
        self.configuration = json.loads((self.folder / "filibuster.json").read_text())
        self.ports = {service["name"]: free_port() for service in self.configuration["services"]}
        self.processes = []

    def fill(self, text):
        return re.sub(r"\$\{port:([^}]*)\}", lambda name: str(self.ports[name[1]]), text)

    def command_of(self, row):
        """Arguments and environment, as a session starts them."""
        command = row["command"]
        words = ["/bin/sh", "-c", self.fill(command)] if isinstance(command, str) else [self.fill(word) for word in command]
        return words, {**os.environ, **{key: self.fill(value) for key, value in row.get("env", {}).items()}}

    def start(self):
        for service in self.configuration["services"]:
            words, environment = self.command_of(service)
            self.processes.append(subprocess.Popen(words, cwd=self.folder, env=environment,
                                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            wait_for(self.ports[service["name"]])

    def stop(self):
        for process in self.processes:
            process.terminate()
            process.wait()

    def plain(self):
        """Median seconds of the functional test."""
        words, environment = self.command_of(self.configuration["tests"][0])
        seconds = []
        for _ in range(TESTS_A_ROUND):
            begin = time.monotonic()
            subprocess.run(words, cwd=self.folder, env=environment, check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.monotonic() - begin)
        return statistics.median(seconds)

    def explored(self, build, executions, faults):
        """Mean seconds from one execution's end to the next."""
        with tempfile.TemporaryDirectory() as root:
            command = [build / "bin/filibuster", "run", "--no-snapshot", "--json", "--root", root, "-c", self.folder / "filibuster.json"]
            if executions:
                command += ["--max-executions", str(executions)]
            for fault in faults:
                command += ["--fault", fault]
            ends = []
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
                for line in process.stdout:
                    event = json.loads(line)
                    if event.get("type") == "execution":
                        ends.append((time.monotonic(), event["number"]))
        if process.returncode != 0:
            sys.exit(f"the exploration ended with {process.returncode}: {shlex.join(map(str, command))}")
        # Events that were fetched together arrive together: only the whole span is meaningful then.
        return (ends[-1][0] - ends[0][0]) / (len(ends) - 1)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--application", default="cinema-1")
    options.add_argument("--executions", type=int, default=0)
    options.add_argument("--fault", action="append", default=[])
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    given = options.parse_args()
    application = Application(given.application)
    try:
        application.start()
        measure = {"plain": application.plain, "control": application.plain,
                   "execution": lambda: application.explored(REPOSITORY / given.build, given.executions, given.fault)}
        results = stats.interleaved(list(measure), given.rounds, lambda name: measure[name]())
    finally:
        application.stop()
    milliseconds = {name: [1000 * seconds for seconds in result] for name, result in results.items()}
    control = stats.compare("control", milliseconds["plain"], milliseconds["control"])
    execution = stats.compare(f"execution of {given.application}", milliseconds["plain"], milliseconds["execution"])
    print(control.text("ms"))
    print(execution.text("ms", control))
    return 1 if execution.low > 1.1 else 0


if __name__ == "__main__":
    sys.exit(main())
