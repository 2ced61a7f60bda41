#!/usr/bin/python3
"""What an execution of cinema-1 costs beside its plain functional test.

In every round: the plain functional test against services that are up and not preloaded, twice (the
second is the control), and one exploration of cinema-1, of which the median execution counts: the
time from one execution's report to the next, so scheduling, the store, the plan, the barrier and quiescence are
in it. The timeouts are elapsed at once where the wait is visible, so no execution really waits; the
reference execution and the first one (whose start is not reported) are left out.
Options: --rounds N (at least 30 for a verdict), --build DIR. Exit code 1 if the ratio's lower end
is above 1.1.
"""
import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import stats

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CINEMA = REPOSITORY / "corpus" / "cinema-1"
PYTHON = "/usr/bin/python3"
TESTS_A_ROUND = 9  # as many as an exploration gives


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


def start_services():
    ports = {name: free_port() for name in ("movies", "bookings", "users")}
    environment = {**os.environ, "BOOKINGS_URL": f"http://127.0.0.1:{ports['bookings']}",
                   "MOVIES_URL": f"http://127.0.0.1:{ports['movies']}"}
    services = [subprocess.Popen([PYTHON, f"{name}.py", "--port", str(port)], cwd=CINEMA,
                                 env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for name, port in ports.items()]
    for port in ports.values():
        wait_for(port)
    return services, f"http://127.0.0.1:{ports['users']}"


def plain(url):
    """Median seconds of the functional test, started as the session starts it."""
    environment = {**os.environ, "USERS_URL": url, "PYTHONPATH": str(REPOSITORY / "cli/python")}
    seconds = []
    for _ in range(TESTS_A_ROUND):
        begin = time.monotonic()
        subprocess.run(["/bin/sh", "-c", f"exec {PYTHON} test_functional.py"], cwd=CINEMA,
                       env=environment, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.monotonic() - begin)
    return statistics.median(seconds)


def explored(build):
    """Median seconds from one execution's end to the next."""
    with tempfile.TemporaryDirectory() as root:
        command = [build / "bin/filibuster", "run", "--json", "--root", root,
                   "-c", CINEMA / "filibuster.json"]
        ends = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True) as process:
            for line in process.stdout:
                event = json.loads(line)
                if event.get("type") == "execution":
                    ends.append((time.monotonic(), event["number"]))
    if process.returncode != 0:
        sys.exit(f"the exploration ended with {process.returncode}")
    # Events that were fetched together arrive together: only the whole span is meaningful then.
    return (ends[-1][0] - ends[0][0]) / (len(ends) - 1)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    given = options.parse_args()
    services, url = start_services()
    try:
        measure = {"plain": lambda: plain(url), "control": lambda: plain(url),
                   "execution": lambda: explored(REPOSITORY / given.build)}
        results = stats.interleaved(list(measure), given.rounds, lambda name: measure[name]())
    finally:
        for service in services:
            service.terminate()
            service.wait()
    control = stats.compare("control", results["plain"], results["control"])
    execution = stats.compare("execution of cinema-1", results["plain"], results["execution"])
    print(control.text("s"))
    print(execution.text("s", control))
    return 1 if execution.low > 1.1 else 0


if __name__ == "__main__":
    sys.exit(main())
