"""Runs the suites of other projects twice: as they are, and with the library preloaded within a session, while an execution runs.
Each test must end in the same way. Prints every difference; those that expected.txt does not name make it fail.

conformance.py [SUITE...]
"""
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
BUILD = REPOSITORY / os.environ.get("BUILD", "build")
LIMIT = 900  # seconds for one run of a suite

sys.path.insert(0, str(HERE))
import suites  # noqa: E402


def plain_environment():
    return {key: value for key, value in os.environ.items() if not key.startswith("FILIBUSTER") and key != "LD_PRELOAD"}


def run_plain(suite, directory):
    out = directory / f"plain{suite.suffix}"
    subprocess.run(["sh", "-c", suite.command.format(out=out)], cwd=directory, env=plain_environment(), timeout=LIMIT,
                   stdin=subprocess.DEVNULL, stdout=(directory / "plain.log").open("w"), stderr=subprocess.STDOUT)
    if not out.exists():
        last = (directory / "plain.log").read_text(errors="replace")[-2000:]
        raise SystemExit(f"{suite.name}: it leaves no results without the library either; the end of what it said:\n{last}")
    return suite.read(out)


def run_in_session(suite, directory):
    """The suite is the test of an application that has one service, which it does not call."""
    out = directory / f"session{suite.suffix}"
    service = {"name": "idle", "command": f"exec {sys.executable} -m http.server --bind 127.0.0.1 ${{port:idle}}"}
    test = {"name": "suite", "timeout": LIMIT, "command": f"{{ {suite.command.format(out=out)}\n}} > session.log 2>&1; exit 0"}
    (directory / "filibuster.json").write_text(json.dumps(
        {"version": 1, "services": [service], "tests": [test], "default_faults": False, "bounds": {"reference_executions": 1}}))
    ran = subprocess.run([str(BUILD / "bin/filibuster"), "run"], cwd=directory, env=plain_environment(), timeout=LIMIT + 60,
                         capture_output=True, text=True)
    if not out.exists():
        raise SystemExit(f"{suite.name}: the session left no results:\n{ran.stdout}{ran.stderr}")
    report = json.loads((directory / ".filibuster/report.json").read_text())
    rpcs = len(report["tests"][0]["reference"]) if report["tests"] else 0
    return suite.read(out), rpcs


def expectations():
    lines = (HERE / "expected.txt").read_text().splitlines()
    return [line.split(maxsplit=2) for line in lines if line.strip() and not line.startswith("#")]


def reason_of(suite, test):
    return next((reason for name, pattern, reason in expectations() if name == suite and fnmatch.fnmatchcase(test, pattern)), None)


def compare(suite):
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        directory = pathlib.Path(folder)
        plain = run_plain(suite, directory)
        ours, rpcs = run_in_session(suite, directory)
    if not plain:
        raise SystemExit(f"{suite.name}: the suite printed no result")
    bad = 0
    for test in sorted(plain.keys() | ours.keys()):
        before, after = plain.get(test, "not run"), ours.get(test, "not run")
        if before == after:
            continue
        reason = reason_of(suite.name, test)
        bad += reason is None
        print(f"  {test}: {before} plain, {after} preloaded" + (f" (expected: {reason})" if reason else ""))
    counts = {outcome: list(plain.values()).count(outcome) for outcome in sorted(set(plain.values()))}
    print(f"{suite.name}: {len(plain)} tests ({', '.join(f'{n} {outcome}' for outcome, n in counts.items())}), {rpcs} RPCs seen: "
          f"{'the same' if bad == 0 else f'{bad} differ'}", flush=True)
    return bad


def main(names):
    known = suites.all_suites(BUILD)
    chosen = [suite for suite in known if not names or any(fnmatch.fnmatchcase(suite.name, name) for name in names)]
    if not chosen:
        raise SystemExit(f"no suite of that name; there are {', '.join(suite.name for suite in known)}")
    # Every suite runs, whatever the one before showed.
    return 1 if sum([compare(suite) for suite in chosen]) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
