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

from conftest import PYTHON, REPOSITORY, wait_until
from processes import at_work_in
from small_apps import config, relay, url
from test_snapshots import application, both, python, shown

SOURCES = REPOSITORY / "tests" / "programs" / "resets"


@pytest.fixture(scope="module")
def leaks(tmp_path_factory):
    """The program, and a library that it links."""
    folder = tmp_path_factory.mktemp("leaks")
    compiler = ["g++", "-std=c++20", "-O1", "-g1", "-Wall", "-Wextra", "-Werror", f"-I{REPOSITORY}"]
    subprocess.run([*compiler, "-fPIC", "-shared", "-o", folder / "libleaks.so", SOURCES / "library.cc"], check=True)
    subprocess.run([*compiler, "-o", folder / "leaks", SOURCES / "leaks.cc", f"-L{folder}", "-lleaks", f"-Wl,-rpath,{folder}"], check=True)
    return folder / "leaks"


def most_of_one_process(project):
    """How many executions the most used process has served. The memory of each of them knows one."""
    rows = [line.split() for line in (project.directory / "seen").read_text().splitlines()]
    assert {known for _, known in rows} == {"1"}, rows
    return max(collections.Counter(pid for pid, _ in rows).values())


def explored(project, leaks, hazard):
    """With snapshots, after a run without them that shows the same."""
    run = both(project, {"command": f"exec {leaks} {hazard}"})
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
    "bytes", "heap-growth", "new-mapping", "dropped", "dropped-read", "unmapped", "unmapped-again", "readonly", "readonly-file",
    "protection", "private-file-dropped", "random", "signals", "interval-timers", "names", "locks",
    # Memory that a fork leaves out, or takes out of userfaultfd(2), is not there in a child of the snapshot, and need not be given back.
    *map(whole, ["deep-stack", "dont-fork", "userfaults", "library", "exit-in-handler", "thread-joined", "abort", "killed"]),
])
def test_what_a_test_leaves_is_given_back(project, leaks, hazard):
    check_reset(project, explored(project, leaks, hazard))


PROCESSES, STATUS = "processes", "/proc/self/status"


@pytest.mark.parametrize("hazard, why", [
    ("large-file-and-dropped", "memory"),
    ("posix-timer", "timer_create"),
    ("limit-of-files", "limits have changed"),
    ("child-waited", PROCESSES),
    ("grandchild", PROCESSES),
    ("ignored-grandchild", PROCESSES),
    ("ignored-session", PROCESSES),
    whole("ignored-command", PROCESSES),
    ("thread-left", STATUS),
    ("wipe-on-fork", "MADV_WIPEONFORK"),
    ("huge-pages", "huge pages"),
    ("_exit", "it ended without exit(3)"),
    whole("large-file", "read-only"),
    whole("hidden-dropped", "memory"),
    whole("file-unmapped", "a mapping of a file is gone"),
    whole("advice", "MADV_DONTFORK"),
    whole("child-left", PROCESSES),
    whole("child-exec", PROCESSES),
    whole("exec", "it ended without exit(3)"),
    whole("signal-waits", STATUS),
    whole("limit-of-stack", "limits have changed"),
    whole("nice", "priority has changed"),
    whole("batch", "policy has changed"),
    whole("affinity", STATUS),
    whole("no-new-privs", STATUS),
    whole("locked-memory", STATUS),
    whole("user", STATUS),
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
def test_what_is_not_given_back_is_forked(project, leaks, hazard, why):
    try:
        run = explored(project, leaks, hazard)
    finally:
        end_those_that_stay(project)
    start = run.test["start"]
    assert start["way"] == "forked" and start["why_not_forked"] == "" and why in start["why_not_reset"], run
    wait_until(lambda: not any("leaks" in line or "sleep" in line for line in at_work_in(project.directory)), "all of the test has ended")


# --- ends -------------------------------------------------------------------------------------------------------

def counted(path):
    return collections.Counter(path.read_text().splitlines())


def test_exit_handlers_and_buffers_are_done_once_in_each_execution(project, leaks):
    run = explored(project, leaks, "ends")
    check_reset(project, run)
    executions = len((project.directory / "seen").read_text().splitlines())
    handlers = ("registered before", "registered after", "with the status", "static data", "library")
    assert counted(project.directory / "ends") == dict.fromkeys(handlers, executions)
    assert counted(project.directory / "buffered") == {"buffered": executions}
    for finding in run.test["findings"]:
        assert str(finding).count("of before, without an end") == 1, finding


def test_the_status_is_that_of_an_exit_in_an_exit_handler(project, leaks):
    run = explored(project, leaks, "exit-again")
    check_reset(project, run)
    assert all("exit status 5" in str(finding) for finding in run.test["findings"]), run


def test_each_execution_has_the_descriptors_of_the_first_one(project, leaks):
    run = explored(project, leaks, "descriptors")
    check_reset(project, run)
    assert len(counted(project.directory / "descriptors")) == 1, run


@pytest.mark.whole
def test_a_test_that_closes_all_descriptors_is_as_it_is_plainly(project, leaks):
    assert explored(project, leaks, "closed-all").test["start"]["way"] in ("reset", "forked")


def test_a_limit_of_processor_time_is_one_of_each_execution(project, leaks):
    # Four executions of one process would be more than the second that it has.
    run = explored(project, leaks, "processor")
    check_reset(project, run)
    assert most_of_one_process(project) > 4, run
