#!/usr/bin/python3
"""How long histories take to be checked, and in how much memory, beside Porcupine on the same files: whole processes, the time within them, the
time of the processor, and the largest resident size, in interleaved rounds with a control (ours against itself).

Options: --rounds N (at least 30 for a verdict), --slow-rounds N (of what takes Porcupine a minute), --build DIR, --porcupine DIR: a copy of
github.com/anishathalye/porcupine, whose test_data are checked. Without it, the comparison is not made, and ours is measured alone, on
the histories of tests/histories that are of kv. Exit code 1: the two say other verdicts.
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
UNITS = {"whole": "ms, process", "within": "ms, check", "processor": "ms, CPU", "memory": "MiB at most"}


def visit(argv):
    """What a run of `argv` takes, and its verdicts."""
    with tempfile.TemporaryFile("w+") as out:
        begin = time.perf_counter()
        child = subprocess.Popen(argv, stdout=out)
        _, status, used = os.wait4(child.pid, 0)
        whole = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{argv[0]} {argv[1]}: exit code {child.returncode}")
        out.seek(0)
        said = json.loads(out.read())
    return {"whole": 1000 * whole, "within": said["check_ms"], "processor": 1000 * (used.ru_utime + used.ru_stime),
            "memory": said["kib"] / 1024, "verdicts": (said["linearisable"], said["not"])}


def build_porcupine(porcupine, build):
    """A program of ours with the user's copy of Porcupine; nothing is loaded."""
    folder = build / "porcupine"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.go").write_text((REPOSITORY / "tests/bench/porcupine/main.go").read_text())
    (folder / "go.mod").write_text("module bench\n\ngo 1.19\n\nrequire github.com/anishathalye/porcupine v0.0.0\n\n"
                                   f"replace github.com/anishathalye/porcupine => {porcupine}\n")
    environment = {**os.environ, "GO111MODULE": "on", "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
    out = build / "tests/porcupine_bench"
    subprocess.run(["go", "build", "-o", str(out.resolve()), "."], cwd=folder, env=environment, check=True)
    return out


def measure(what, kind, files, rounds, ours, theirs):
    """False: the verdicts differ."""
    variants = {"ours": ours, "control": ours, **({"Porcupine": theirs} if theirs else {})}
    found = stats.interleaved(list(variants), rounds, lambda name: visit([str(variants[name]), kind, *map(str, files)]))
    verdicts = {each["verdicts"] for visits in found.values() for each in visits}
    few = "" if rounds >= stats.MINIMUM_ROUNDS else " (too few for a verdict on time)"
    print(f"{what}: {len(files)} files, {rounds} rounds{few}", flush=True)
    for measured, unit in UNITS.items():
        times = {name: [each[measured] for each in visits] for name, visits in found.items()}
        base = times.get("Porcupine")
        if base is None:
            low, high = stats.bootstrap(times["ours"])
            print(f"  ours {statistics.median(times['ours']):.2f} {unit} [{low:.2f}, {high:.2f}]")
            continue
        control = stats.compare("  control (ours against itself)", times["ours"], times["control"])
        print(f"  Porcupine {statistics.median(base):.2f} {unit}")
        print(control.text(unit))
        print(stats.compare("  ours beside Porcupine", base, times["ours"]).text(unit, control), flush=True)
    if len(verdicts) > 1:
        print(f"  the verdicts differ: {sorted(verdicts)}")
    return len(verdicts) == 1


def lines_of_kv(folder):
    """Histories of tests/histories, each in a file."""
    for number, line in enumerate((REPOSITORY / "tests/histories/kv.jsonl").read_text().splitlines()):
        row = json.loads(line)
        path = pathlib.Path(folder) / f"{number}.txt"
        path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in row["history"]))
        yield path


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=stats.MINIMUM_ROUNDS)
    options.add_argument("--slow-rounds", type=int, default=3)
    options.add_argument("--build", default=os.environ.get("BUILD", "build"))
    options.add_argument("--porcupine", default="")
    given = options.parse_args()
    build = REPOSITORY / given.build
    ours = build / "tests/linear_bench"
    if not given.porcupine:
        print("Porcupine was not compared: make bench PORCUPINE=DIR with a copy of github.com/anishathalye/porcupine")
        with tempfile.TemporaryDirectory() as folder:
            return 0 if measure("kv, histories of ours", "kv", list(lines_of_kv(folder)), given.rounds, ours, None) else 1
    porcupine = pathlib.Path(given.porcupine).resolve()
    theirs = build_porcupine(porcupine, build)
    logs = [path for path in sorted((porcupine / "test_data/jepsen").glob("*.log")) if path.stat().st_size > 0]
    kv = {name: [porcupine / f"test_data/kv/{name}.txt"] for name in ("c10-ok", "c10-bad", "c50-ok", "c50-bad")}
    same = measure("etcd, all logs in one process", "etcd", logs, given.rounds, ours, theirs)
    for name, files in kv.items():
        same &= measure(f"kv {name}, each key alone", "kv", files, given.rounds, ours, theirs)
    for name in ("c10-ok", "c10-bad"):
        same &= measure(f"kv {name}, all keys as one object", "kv-one-object", kv[name], given.slow_rounds, ours, theirs)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
