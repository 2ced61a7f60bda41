#!/usr/bin/python3
"""What an exploration takes while 1,000 connections without a token hang on the daemon's API.

The test of a small application asks the API in each execution, and the command follows. In every round: the exploration alone, twice (the second
is the control), and once beside tests/programs/slow_crowd, of which every other connection sends a byte now and then. What counts is the time from
the moment when all of them are connected to the end of the command; an exploration alone waits at the same place. Their arrival
is a cost of its own, once: --arrival counts it, too. Without it, what counts begins when the daemon has accepted all of them.
Options: --rounds N (at least 30 for a verdict), --build DIR, --arrival. Exit code 1 if the interval does not overlap the control's.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import stats

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
APPS = REPOSITORY / "tests/integration/apps"
PYTHON = "/usr/bin/python3"
CONNECTIONS = 1000


def is_accepting(port):
    """Does a connection to this port wait for being accepted? (/proc/net/tcp: the receive queue of a socket that listens.)"""
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, queues, *_ = line.split()
        if state == "0A" and int(local.split(":")[1], 16) == port:
            return int(queues.split(":")[1], 16) > 0
    sys.exit(f"nothing listens at port {port}")


class Application:
    """front -> back, and a test that waits for a file before its first execution."""

    def __init__(self, build, folder, arrival):
        self.build, self.folder, self.arrival = build, pathlib.Path(folder), arrival
        relay = f"exec {PYTHON} {APPS}/relay.py"
        asks = f"{build}/bin/filibuster was-fault-injected --service back; [ $? -le 1 ] || exit 9"
        probe = f"exec {PYTHON} {APPS}/probe.py 200,503 http://127.0.0.1:${{port:front}}/"
        (self.folder / "filibuster.json").write_text(json.dumps({
            "version": 1,
            "services": [{"name": "back", "command": f"{relay} ${{port:back}}"},
                         {"name": "front", "command": f"{relay} ${{port:front}} --call http://127.0.0.1:${{port:back}}/"}],
            "tests": [{"name": "asks", "command": f"until [ -e go ]; do sleep 0.01; done; {asks}; {probe}"}],
            "faults": [{"inject": ["500", "502", "503", "refused"]}]}))

    def explore(self, crowded):
        """Seconds."""
        root, go = self.folder / ".filibuster", self.folder / "go"
        go.unlink(missing_ok=True)
        command = [self.build / "bin/filibuster", "run", "--restart-session"]
        run = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        crowd = None
        try:
            while not (root / "logs/test-0.log").exists() and run.poll() is None:
                time.sleep(0.01)
            if crowded:
                port = json.loads((root / "daemon.json").read_text())["url"].rsplit(":", 1)[1]
                crowd = subprocess.Popen([self.build / "tests/programs/slow_crowd", port, str(CONNECTIONS)], stdout=subprocess.PIPE)
                crowd.stdout.readline()
                while not self.arrival and is_accepting(int(port)):
                    time.sleep(0.001)
            begin = time.monotonic()
            go.touch()
            output, _ = run.communicate()
            took = time.monotonic() - begin
        finally:
            if crowd is not None:
                crowd.kill()
                crowd.communicate()
        report = json.loads((root / "report.json").read_text())
        counts = report["tests"][0]["counts"]
        if run.returncode != 0 or counts["executed"] != 5:
            sys.exit(f"the exploration ended with {run.returncode}, {counts}:\n{output}")
        (root / "logs/test-0.log").unlink()
        return took


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    options.add_argument("--arrival", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        application = Application(REPOSITORY / given.build, folder, given.arrival)
        times = stats.interleaved(["alone", "control", "crowded"], given.rounds,
                                  lambda name: 1000 * application.explore(name == "crowded"))
    control = stats.compare("control (alone against itself)", times["alone"], times["control"])
    crowded = stats.compare(f"beside {CONNECTIONS:,} slow connections", times["alone"], times["crowded"])
    print(f"an exploration of five executions: alone {control.base:.0f} ms, {given.rounds} rounds\n"
          f"  {control.text('ms')}\n  {crowded.text('ms', control)}", flush=True)
    return 0 if crowded.overlaps(control) else 1


if __name__ == "__main__":
    sys.exit(main())
