#!/usr/bin/python3
"""What `filibuster run` costs by itself: one native service and a test that is one call of curl, so that the run has nothing to
explore. Wall-clock time, and time of the processor with all that the run starts, in interleaved rounds with a control.

Options: --rounds N (at least 30 for a verdict), --build DIR, --beside DIR (another build, in the place of the control's variant: what
a change has saved). Exit code 1 if the median of the wall-clock time is above the bound.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import stats

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BOUND = 120.0  # milliseconds


def configuration(server):
    return {"version": 1,
            "services": [{"name": "back", "command": f"exec {server} threads ${{port:back}}"}],
            "tests": [{"name": "get", "command": "exec curl -sf http://127.0.0.1:${port:back}/"}]}


def measured(build, folder):
    """One run: (wall, processor) in milliseconds."""
    begin = time.perf_counter()
    run = subprocess.Popen([build / "bin/filibuster", "run"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = run.stdout.read()
    _, status, used = os.wait4(run.pid, 0)
    wall = time.perf_counter() - begin
    run.returncode = os.waitstatus_to_exitcode(status)
    # 3: nothing was tested, since the test's own call gets no fault.
    if run.returncode not in (0, 3) or b"no failure found" not in said:
        sys.exit(f"the run failed:\n{said.decode()}")
    return 1000 * wall, 1000 * (used.ru_utime + used.ru_stime)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    options.add_argument("--beside", default="")
    given = options.parse_args()
    build = REPOSITORY / given.build
    builds = {"run": build, "control": build}
    if given.beside:
        builds["beside"] = REPOSITORY / given.beside
    processor = {name: [] for name in builds}
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "filibuster.json").write_text(json.dumps(configuration(build / "tests/programs/http_echo_server")))

        def visit(name):
            wall, used = measured(builds[name], folder)
            processor[name].append(used)
            return wall

        walls = stats.interleaved(list(builds), given.rounds, visit)
    print(f"an empty run: {statistics.median(walls['run']):.1f} ms (least {min(walls['run']):.1f}), of the processor "
          f"{statistics.median(processor['run']):.1f} ms (least {min(processor['run']):.1f}), {given.rounds} rounds")
    for title, times in (("wall", walls), ("processor", processor)):
        control = stats.compare(f"control, {title}", times["run"], times["control"])
        print("  " + control.text("ms"))
        if given.beside:
            print("  " + stats.compare(f"beside, {title}", times["run"], times["beside"]).text("ms", control)
                  + f"  least {min(times['beside']):.1f}")
    sys.exit(1 if statistics.median(walls["run"]) > BOUND else 0)


if __name__ == "__main__":
    main()
