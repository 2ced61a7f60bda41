"""Children of a test's snapshot that are reset at their exit(3) (preload/snapshot/reset): an execution sees nothing of an earlier one
in the same process, and what cannot be given back is forked."""
import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess

import pytest

from conftest import PROGRAMS, PYTHON, REPOSITORY, wait_until
from processes import at_work_in
from small_apps import config, relay, url
from test_snapshots import application, both, python, shown

LEAKS = PROGRAMS / "leaks"  # tests/programs/resets


def most_of_one_process(project):
    """How many executions the most used process has served. The memory of each of them knows one."""
    rows = [line.split() for line in (project.directory / "seen").read_text().splitlines()]
    assert {known for _, known in rows} == {"1"}, rows
    return max(collections.Counter(pid for pid, _ in rows).values())


def explored(project, hazard):
    """With snapshots, after a run without them that shows the same."""
    run = both(project, {"command": f"exec {LEAKS} {hazard}"})
    if "NOT CHECKED: " in run.output:
        pytest.skip(run.output[run.output.index("NOT CHECKED: "):].splitlines()[0])
    assert "LEAKED" not in run.output and run.test["findings"], run
    return run


def end_those_that_stay(project):
    """Processes of sessions of their own: nobody else ends them."""
    left = project.directory / "left"
    for pid in map(int, left.read_text().split() if left.exists() else ()):
        with contextlib.suppress(OSError):  # it has ended
            if "leaks" in pathlib.Path(f"/proc/{pid}/cmdline").read_text():
                os.kill(pid, signal.SIGKILL)


def check_reset(project, run):
    assert run.test["start"] == {"way": "reset", "why_not_forked": "", "why_not_reset": ""}, run
    assert most_of_one_process(project) >= 2, run


def whole(*values):
    return pytest.param(*values, marks=pytest.mark.whole)


@pytest.mark.parametrize("hazard", [
    "bytes", "heap-growth", "new-mapping", "dropped", "unmapped", "readonly", "protection", "random", "signals", "interval-timers", "names",
    "locks",
    # Other forms of what is dropped, unmapped and read-only above.
    *map(whole, ["dropped-read", "unmapped-again", "readonly-file", "private-file-dropped"]),
    # Memory that a fork leaves out, or takes out of userfaultfd(2), is not there in a child of the snapshot, and need not be given back.
    *map(whole, ["deep-stack", "dont-fork", "userfaults", "library", "exit-in-handler", "thread-joined", "abort", "killed"]),
])
def test_what_a_test_leaves_is_given_back(project, hazard):
    check_reset(project, explored(project, hazard))


PROCESSES = "processes"


@pytest.mark.parametrize("hazard, why", [
    whole("large-file-and-dropped", "memory"),
    ("posix-timer", "timer_create"),
    whole("limit-of-files", "limits have changed"),
    whole("child-waited", PROCESSES),
    ("grandchild", PROCESSES),
    whole("ignored-grandchild", PROCESSES),
    whole("ignored-session", PROCESSES),
    whole("ignored-command", PROCESSES),
    ("thread-left", "it has threads that have not ended"),
    whole("wipe-on-fork", "MADV_WIPEONFORK"),
    ("huge-pages", "huge pages"),
    ("_exit", "it ended without calling exit()"),
    whole("large-file", "read-only"),
    whole("hidden-dropped", "memory"),
    whole("file-unmapped", "a mapping of a file is gone"),
    whole("advice", "MADV_DONTFORK"),
    # The kernel shows a guard of memory as it shows what is swapped out.
    whole("guard", "swapped out"),
    whole("child-left", PROCESSES),
    whole("child-exec", PROCESSES),
    whole("exec", "it ended without calling exit()"),
    whole("signal-waits", "signals wait for it"),
    whole("limit-of-stack", "limits have changed"),
    whole("nice", "priority has changed"),
    whole("batch", "policy has changed"),
    whole("affinity", "its processors have changed"),
    whole("no-new-privs", "PR_SET_NO_NEW_PRIVS"),
    whole("locked-memory", "its locked memory has changed"),
    whole("user", "its users or groups have changed"),
    whole("coredump-filter", "what a dump of it contains has changed"),
    whole("oom-score", "score for the want of memory has changed"),
    whole("timer-slack", "timer slack has changed"),
    whole("personality", "execution domain has changed"),
    whole("subreaper", "adopts orphans has changed"),
    whole("not-dumpable", "can be dumped has changed"),
    whole("secure-bits", "secure bits have changed"),
    whole("namespace", "namespaces have changed"),
    whole("root", "its state cannot be read"),
])
def test_what_is_not_given_back_is_forked(project, hazard, why):
    try:
        run = explored(project, hazard)
    finally:
        end_those_that_stay(project)
    start = run.test["start"]
    assert start["way"] == "forked" and start["why_not_forked"] == "" and why in start["why_not_reset"], run
    wait_until(lambda: not any("leaks" in line or "sleep" in line for line in at_work_in(project.directory)), "all of the test has ended")


# --- ends -------------------------------------------------------------------------------------------------------

def counted(path):
    return collections.Counter(path.read_text().splitlines())


def test_exit_handlers_and_buffers_are_done_once_in_each_execution(project):
    run = explored(project, "ends")
    check_reset(project, run)
    executions = len((project.directory / "seen").read_text().splitlines())
    handlers = ("registered before", "registered after", "with the status", "static data", "library")
    assert counted(project.directory / "ends") == dict.fromkeys(handlers, executions)
    assert counted(project.directory / "buffered") == {"buffered": executions}
    for finding in run.test["findings"]:
        assert str(finding).count("of before, without an end") == 1, finding


def test_the_status_is_that_of_an_exit_in_an_exit_handler(project):
    run = explored(project, "exit-again")
    check_reset(project, run)
    assert all("exit status 5" in str(finding) for finding in run.test["findings"]), run


def test_each_execution_has_the_descriptors_of_the_first_one(project):
    run = explored(project, "descriptors")
    check_reset(project, run)
    assert len(counted(project.directory / "descriptors")) == 1, run


@pytest.mark.whole
def test_a_test_that_closes_all_descriptors_is_as_it_is_plainly(project):
    assert explored(project, "closed-all").test["start"]["way"] in ("reset", "forked")


# Each execution takes most of a second of the processor.
@pytest.mark.whole
def test_a_limit_of_processor_time_is_one_of_each_execution(project):
    # Two executions of one process would be more than the second that it has.
    check_reset(project, explored(project, "processor"))


# --- what measures a test -----------------------------------------------------------------------------------------

COVERED = """
#include "tests/programs/resets/execution.h"
int main() {
  int error = 0;
  const int status = ask(&error);
  add_line("seen", std::to_string(getpid()) + " 1");
  return status == 200 || status == 503 ? 0 : 3;
}
"""


def executed_with(project, *options):
    """The way, and how many executions there were."""
    (project.directory / "seen").unlink(missing_ok=True)
    run = project.filibuster("run", "--snapshot", "--restart-session", *options)
    return run.test["start"]["way"], len((project.directory / "seen").read_text().splitlines())


def test_each_execution_writes_the_counts_of_gcov(project):
    source = project.write("covered.cc", COVERED.lstrip())
    line = COVERED.lstrip().splitlines().index('  add_line("seen", std::to_string(getpid()) + " 1");') + 1
    subprocess.run(["g++", "-std=c++20", "-O0", "--coverage", f"-I{REPOSITORY}", "-o", "covered", source], check=True,
                   cwd=project.directory)
    project.write("filibuster.json", application({"command": "exec ./covered"}))
    for way, options in (("reset", ()), ("forked", ("--no-reset",))):
        for data in project.directory.glob("*.gcda"):
            data.unlink()
        assert executed_with(project, *options)[0] == way
        executions = len((project.directory / "seen").read_text().splitlines())
        out = subprocess.run(["gcov", "--json-format", "--stdout", *project.directory.glob("*.gcda")], cwd=project.directory, check=True,
                             stdout=subprocess.PIPE, text=True).stdout
        (counts,) = [file["lines"] for file in json.loads(out)["files"] if file["file"].endswith("covered.cc")]
        assert {one["count"] for one in counts if one["line_number"] == line} == {executions}, counts


# The counts of gcov are in the test above.
@pytest.mark.whole
def test_each_execution_writes_its_data_of_coverage_py(project):
    pytest.importorskip("coverage", reason="NOT CHECKED: python3-coverage is not installed")
    project.write("test.py", f"""
import os, sys, urllib.error, urllib.request
try:
    status = urllib.request.urlopen(os.environ["FRONT"], timeout=30).status
except urllib.error.HTTPError as error:
    status = error.code
with open("seen", "a") as file:
    file.write(f"{{os.getpid()}} 1\\n")
if status != 200:
    print("only with faults")
sys.exit(0 if status in (200, 503) else 3)
""".lstrip())
    project.write("filibuster.json", application({"command": f"exec {PYTHON} -m coverage run -p --branch test.py"}))
    lines = []
    for way, options in (("reset", ()), ("forked", ("--no-reset",))):
        for data in project.directory.glob(".coverage*"):
            data.unlink()
        found, executions = executed_with(project, *options)
        assert found == way
        # The name of a file ends in the process and six digits that are drawn, so that one name may be used twice.
        files = list(project.directory.glob(".coverage.*"))
        assert executions - 1 <= len(files) <= executions, files
        subprocess.run([PYTHON, "-m", "coverage", "combine", "-q"], cwd=project.directory, check=True)
        subprocess.run([PYTHON, "-m", "coverage", "json", "-q", "-o", "covered.json"], cwd=project.directory, check=True)
        file = json.loads((project.directory / "covered.json").read_text())["files"]["test.py"]
        lines.append((file["executed_lines"], file["missing_lines"], file["executed_branches"]))
    assert lines[0] == lines[1] and lines[0][1] == [], lines


# --- very many executions ------------------------------------------------------------------------------------------

# What a test can see of itself, after its answer and before its end, at which it leaves a bit more of each.
COUNTING = """
import json, os, random, resource, sys, threading, time, urllib.error, urllib.request
kept = []
try:
    status = urllib.request.urlopen(os.environ["FRONT"], timeout=30).status
except urllib.error.HTTPError as error:
    status = error.code
numbers = os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0), os.umask(0o22), os.getcwd(), os.getpgid(0) == os.getpid()
limits = [resource.getrlimit(getattr(resource, name)) for name in sorted(vars(resource)) if name.startswith("RLIMIT_")]
size, resident = map(int, open("/proc/self/statm").read().split()[:2])
mappings = sum(1 for _ in open("/proc/self/maps"))
seen = {"size": size, "mappings": mappings, "descriptors": len(os.listdir("/proc/self/fd")), "threads": threading.active_count(),
        "tasks": len(os.listdir("/proc/self/task")), "environment": hash(tuple(sorted(os.environ.items()))), "drawn": random.random(),
        "numbers": repr(numbers), "limits": repr(limits), "kept": len(kept)}
with open("seen", "a") as file:
    file.write(json.dumps([os.getpid(), time.monotonic(), resident, seen]) + "\\n")
kept += [bytearray(1 << 20), open("test.py")]
os.environ["LEFT"] = "behind"
sys.exit(0 if status in (200, 503) else 3)
"""


@pytest.mark.whole
def test_nothing_grows_in_ten_thousand_executions(project):
    """They take about two minutes. A snapshot is made anew every few seconds, so that a process serves some hundred of them."""
    project.write("test.py", COUNTING.lstrip())
    services = [relay("a"), relay("b"), relay("front", "a", "b", options="--tolerate 2 --timeout 0")]
    test = {"name": "front", "env": {"FRONT": url("front")}, "command": f"exec {PYTHON} test.py"}
    inject = [f"status:{status}" for status in range(400, 500)]
    project.write("filibuster.json", config(services, [test], faults=[{"on": {"caller": "front"}, "inject": inject}]))
    run = project.filibuster("run", "--snapshot", "--no-reduction", timeout=1200)
    assert run.exit_code == 0 and run.executed > 10_000 and run.test["start"]["way"] == "reset", run
    processes = collections.defaultdict(list)
    for line in (project.directory / "seen").read_text().splitlines():
        pid, *row = json.loads(line)
        processes[pid].append(row)
    assert max(map(len, processes.values())) > 100, {pid: len(rows) for pid, rows in processes.items()}
    for rows in processes.values():
        times, resident, seen = zip(*rows, strict=True)
        assert all(one == seen[0] for one in seen), seen
        assert sorted(times) == list(times)
        # The first execution brings in pages of files, which stay.
        assert len(rows) < 3 or max(resident) - resident[1] < 64, resident
