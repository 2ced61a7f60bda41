"""What the property-based tests of the corpus have to show (`make reproduce-property`): each seeded bug with twenty seeds, shrunk to what the
paper prints, and the repaired applications silent. Prints a row a bug, and ends with 1 if a figure is missed.

SEEDS=3 PROGRAMS=50 for a short look."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FILIBUSTER = pathlib.Path(os.environ.get("BUILD", "build")).resolve() / "bin" / "filibuster"
CORPUS = REPOSITORY / "corpus"
SEEDS = int(os.environ.get("SEEDS", "20"))
PROGRAMS = int(os.environ.get("PROGRAMS", "1000"))
# Within these programs each bug has to be found.
BOUND = 100
POLL_FAILS = {"reset", "reset:after"}


def faults_of(program):
    return {item["fault"] for item in program if "arm" in item}


def commands_of(program):
    return [item["do"] for item in program if "do" in item]


def one_fault_and_a_write(faults):
    """The background poll may take the fault without any write."""
    return lambda found: len(faults_of(found["program"])) == 1 and faults_of(found["program"]) <= faults and \
        commands_of(found["program"]) in ([], ["write"])


def stale_read(found):
    return faults_of(found["program"]) == {"reset:after"} and len(found["program"]) == 3


def lost_update(found):
    """Two transfers at the same time, one of which stops; behind them what is wrong."""
    program = found["program"]
    return len(found["holds"]) >= 1 and sum(item.get("parallel", False) for item in program) == 1 and len(program) <= 4


JOBS = {"full": one_fault_and_a_write({"status:507"}), "dead-worker": one_fault_and_a_write(POLL_FAILS),
        "impatient": one_fault_and_a_write({"latency:200ms"})}
BUGS = [("job-queue", "filibuster.json", bug, [], shape) for bug, shape in JOBS.items()] + \
    [("job-queue", "cpp.json", bug, [], shape) for bug, shape in JOBS.items()] + \
    [("replicas", "filibuster.json", "roll-back", [], stale_read)] + \
    [("ledger", "filibuster.json", bug, ["--clients", "2"], lost_update) for bug in ("no-lock", "early-unlock")]
SOUND = [("job-queue", "filibuster.json", [], 1), ("job-queue", "cpp.json", [], 1), ("replicas", "filibuster.json", [], 1),
         ("ledger", "filibuster.json", ["--clients", "3"], 10)]


def filibuster(root, verb, *arguments, **env):
    """The exit code, and property.json where it was written."""
    command = [FILIBUSTER, verb, "--root", root, *map(str, arguments)]
    ended = subprocess.run(command, cwd=root, env={**os.environ, **env}, capture_output=True, text=True, timeout=3600)
    path = root / "property.json"
    (test,) = json.loads(path.read_text())["tests"] if path.exists() else ({},)
    return ended, test


def look_for(application, config, bug, options, shape):
    """Whether each figure is met, with a row."""
    found = shrunk = repeated = 0
    programs, problems = [], []
    # The worker of a job that fails waits two seconds, not thirty.
    env = {"BUG": bug, **({} if bug == "impatient" else {"WORKER_TIMEOUT": "2"})}
    for seed in range(1, SEEDS + 1):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            first = 1000 * seed  # seeds of programs, of which none is shared
            ended, test = filibuster(root, "property", "-c", CORPUS / application / config, "--seed", first, "--tests", BOUND, *options, **env)
            if ended.returncode != 1 or not test.get("findings"):
                problems.append(f"seed {first}: exit code {ended.returncode}: {ended.stderr.strip()[-300:]}")
                continue
            finding = test["findings"][0]
            found += 1
            programs.append(test["executed"])
            if shape(finding):
                shrunk += 1
            else:
                problems.append(f"seed {first}: shrunk to {json.dumps(finding['program'])}, {json.dumps(finding['holds'])}")
            number = pathlib.Path(finding["counterexample"]).stem
            again, _ = filibuster(root, "replay", number, **env)
            repeated += again.returncode == 1
            if again.returncode != 1:
                problems.append(f"seed {first}: the replay: exit code {again.returncode}")
    middle = statistics.median(programs) if programs else None
    print(f"{application:10} {config:16} {bug:13} found {found}/{SEEDS}, programs {middle} at most {max(programs, default=None)}, "
          f"shrunk {shrunk}/{found}, replayed {repeated}/{found}", flush=True)
    for problem in problems:
        print(f"    {problem}", flush=True)
    return found == shrunk == repeated == SEEDS


def is_silent(application, config, options, repetitions):
    programs = PROGRAMS // repetitions
    with tempfile.TemporaryDirectory() as folder:
        ended, test = filibuster(pathlib.Path(folder), "property", "-c", CORPUS / application / config, "--seed", 1, "--tests", programs, *options)
    silent = ended.returncode == 0 and test.get("executed") == programs
    print(f"{application:10} {config:16} repaired      {'silent' if silent else 'NOT SILENT'} under {test.get('executed')} programs, "
          f"{test.get('executions')} executions, {sum(test.get('fired', {}).values())} faults", flush=True)
    if not silent:
        print(ended.stdout + ended.stderr, flush=True)
    return silent


def main():
    met = [look_for(*row) for row in BUGS] + [is_silent(*row) for row in SOUND]
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
