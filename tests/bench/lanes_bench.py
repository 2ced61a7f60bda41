#!/usr/bin/python3
"""What a second lane brings (docs/lanes.md): executions a second with -j 2 beside -j 1.

In every round each application is explored with -j 1, again (the control), and with -j 2, without reduction, one fault in each
execution: statuses, and for `audible, waits` the faults of its configuration, whose timeouts the services of Node wait for. What counts is the
time of the exploration, with the start of the second lane in it. Beside it stands how many processors one lane keeps busy: where that
is nearly all of them, no second lane can help, and the run says that it has given it up.
Options: --case NAME (repeatable), --rounds N (at least 30 for a verdict), --build DIR.
"""
import argparse
import os
import statistics
import sys
import time

import stats
from snapshot_bench import REPOSITORY, explore, in_place, rules_of_table_7_2

BOUND = 1.5


def statuses(application, number):
    def made():
        config = in_place(REPOSITORY / "corpus" / application / "filibuster.json")
        config["faults"] = [{"inject": [f"status:{status}" for status in range(500, 500 + number)]}]
        return config | {"default_faults": False}
    return made


def netflix():
    config = in_place(REPOSITORY / "corpus/netflix/filibuster.json")
    return config | {"faults": rules_of_table_7_2("netflix", config), "default_faults": False}


# The configuration and the bound of its executions.
CASES = {
    "cinema-1": (statuses("cinema-1", 100), 200),
    "audible": (statuses("audible", 10), 80),
    "audible, waits": (lambda: in_place(REPOSITORY / "corpus/audible/filibuster.json"), 40),
    "netflix": (netflix, 400),
}


def busy_seconds():
    """Of all processors."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, soft = map(int, file.readline().split()[1:8])
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--case", action="append", choices=CASES)
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    given = options.parse_args()
    build = REPOSITORY / given.build
    missed = False
    for name in given.case or CASES:
        made, executions = CASES[name]
        busy, given_up = [], 0

        def measure(way, made=made, executions=executions, busy=busy):
            nonlocal given_up
            before, began = busy_seconds(), time.monotonic()
            test = explore(build, made(), "-j", "2" if way == "2 lanes" else "1", "--reduce", "off", "--max-executions", str(executions))
            if way == "2 lanes":
                given_up += any("goes on" in note for note in test["notes"])
                if test["lanes"]["used"] != 2:
                    sys.exit(f"{name}: one lane was used: {test['notes']}")
            else:
                busy.append((busy_seconds() - before) / (time.monotonic() - began))
            return 1000 * test["seconds"]["total"] / test["counts"]["executed"]

        results = stats.interleaved(["1 lane", "control", "2 lanes"], given.rounds, measure)
        control = stats.compare("control", results["1 lane"], results["control"])
        print(control.text("ms"))
        lanes = stats.compare(f"{name}, 2 lanes", results["1 lane"], results["2 lanes"])
        print(lanes.text("ms", control) + f"  {1 / lanes.ratio:.2f} times as many a second; one lane keeps {statistics.median(busy):.2f} of "
              f"{os.cpu_count()} processors busy; given up in {given_up} of {given.rounds} runs", flush=True)
        if 1 / lanes.low < BOUND:
            print(f"missed: {name}: {1 / lanes.ratio:.2f} times as many executions a second, {BOUND} was wanted")
            missed = True
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
