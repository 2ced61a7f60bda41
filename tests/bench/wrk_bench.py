#!/usr/bin/python3
"""wrk against the C++ keep-alive server: plain, plain again (control), preloaded without a session.

Each variant has its own server for the whole run; wrk visits them in interleaved rounds.
Options: --rounds N (at least 30 for a verdict), --seconds S of each visit, --connections N,
--build DIR, --json FILE. Exit code 1 if the preloaded server loses what the control can resolve.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import stats

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def start(server, preload, nowhere):
    """A server on a port of its own; returns (process, port)."""
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith("FILIBUSTER_") and k != "LD_PRELOAD"}
    if preload is not None:
        environment |= {"LD_PRELOAD": str(preload),
                        "FILIBUSTER_DAEMON": f"unix:{nowhere}/agent.sock"}
    process = subprocess.Popen([server, "epoll", "0"], env=environment, stdout=subprocess.PIPE,
                               text=True)
    found = re.search(r"listening on (\d+)", process.stdout.readline())
    if found is None:
        sys.exit(f"{server} did not start")
    return process, int(found.group(1))


def visit(port, seconds, connections):
    """Requests per second."""
    result = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s",
                             f"http://127.0.0.1:{port}/"], capture_output=True, text=True,
                            timeout=seconds + 60)
    found = re.search(r"Requests/sec:\s+([\d.]+)", result.stdout)
    if found is None or "Socket errors" in result.stdout or "Non-2xx" in result.stdout:
        sys.exit(f"wrk: {result.stdout}{result.stderr}")
    return float(found.group(1))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--seconds", type=int, default=1)
    options.add_argument("--connections", type=int, default=16)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    options.add_argument("--json")
    given = options.parse_args()
    build = REPOSITORY / given.build
    server = build / "tests/programs/http_echo_server"
    preloads = {"plain": None, "control": None, "no session": build / "lib/libfilibuster.so"}
    servers = {}
    with tempfile.TemporaryDirectory() as nowhere:
        try:
            for name, preload in preloads.items():
                servers[name] = start(server, preload, nowhere)
            rates = stats.interleaved(list(preloads), given.rounds, lambda name: visit(
                servers[name][1], given.seconds, given.connections))
        finally:
            for process, _ in servers.values():
                process.terminate()
                process.wait()
    control = stats.compare("control (plain against itself)", rates["plain"], rates["control"])
    found = stats.compare("preloaded, no session", rates["plain"], rates["no session"])
    print(f"wrk, {given.connections} connections: plain {control.base:.0f} requests/s, "
          f"{given.rounds} rounds of {given.seconds} s")
    print("  " + control.text("requests/s"))
    print("  " + found.text("requests/s", control))
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(
            {"control": vars(control), "no session": vars(found)}, indent=1))
    sys.exit(1 if found.high < 1 and not found.overlaps(control) else 0)


if __name__ == "__main__":
    main()
