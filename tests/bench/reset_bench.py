#!/usr/bin/python3
"""What an execution costs beside the body of its test, repeated in one process without the library against services without it.

Like for like: only the last call of each test gets a fault, after the server has acted on it, so that all calls are made. In every round:
the body, again (the control), and two explorations, of which one resets the children of the test (docs/snapshots.md) and one forks each
of them; what counts is the mean time of an execution from its start to the next one, without those that are run both ways. With --busy, a
loop without an end takes a processor meanwhile. A test on Node or the JVM is not forked, and is not among the cases.
Options: --case NAME (repeatable), --rounds N (at least 30 for a verdict), --build DIR, --busy.
"""
import argparse
import os
import pathlib
import subprocess
import sys

import stats
from execution_bench import Application, free_port
from snapshot_bench import CASES, REPOSITORY, TESTS, explore, milliseconds

TIMES = 40  # of the body in a round
BOUND = 1.5
STATUSES = range(500, 530)


class Plain(Application):
    """The services of a configuration, without the library."""

    def __init__(self, configuration):
        self.folder, self.configuration, self.processes = REPOSITORY, configuration, []
        self.ports = {service["name"]: free_port() for service in configuration["services"]}

    def start(self):
        # Each where its folder is.
        for service in self.configuration["services"]:
            service["command"] = f"cd {service.get('directory', REPOSITORY)} && {service['command']}"
        super().start()

    def body(self, file):
        _, environment = self.command_of(self.configuration["tests"][0])
        directory = self.configuration["tests"][0].get("directory", REPOSITORY)
        run = subprocess.run(["/usr/bin/python3", TESTS / "repeat.py", file, str(TIMES)], cwd=directory, env=environment,
                             capture_output=True, text=True, check=True)
        return float(run.stdout)


# The case, the file with its body, and the last call of it.
LAST = {
    "cinema-1": ("test_functional.py", {"service": "movies"}),
    "netflix, test in Python": (TESTS / "netflix_homepage.py", {"service": "ratings"}),
    "pytest": (TESTS / "test_slow_suite.py", {"caller": "front", "service": "b"}),
}


def case(name):
    configuration = CASES[name]()
    _, call = LAST[name]
    configuration["faults"] = [{"on": call, "inject": [f"status:{status}:after" for status in STATUSES]}]
    configuration["default_faults"] = False
    return configuration



def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--case", action="append", choices=LAST)
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    options.add_argument("--busy", action="store_true")
    given = options.parse_args()
    build = REPOSITORY / given.build
    missed = False
    busy = subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) if given.busy else None
    try:
        for name in given.case or LAST:
            file, _ = LAST[name]
            plain, ways = Plain(case(name)), set()

            def explored(way, name=name, ways=ways):
                test = explore(build, case(name), "--snapshot", "--no-reduction", *(["--no-reset"] if way == "forked" else []))
                if test["start"]["way"] != way:
                    ways.add(f"{test['start']} instead of {way}")
                return milliseconds(test)

            try:
                plain.start()
                results = stats.interleaved(["body", "control", "reset", "forked"], given.rounds, lambda variant, plain=plain, file=file, explored=explored:
                                            plain.body(file) if variant in ("body", "control") else explored(variant))
            finally:
                plain.stop()
            control = stats.compare("control", results["body"], results["control"])
            print(control.text("ms"))
            for way in ("reset", "forked"):
                found = stats.compare(f"{name}, {way}", results["body"], results[way])
                print(found.text("ms", control), flush=True)
                missed = missed or (way == "reset" and found.low > BOUND)
            for problem in ways:
                print(f"  {problem}")
    finally:
        if busy:
            busy.kill()
            busy.wait()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
