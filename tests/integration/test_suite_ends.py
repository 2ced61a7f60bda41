"""How `filibuster suite` ends: by Ctrl-C, by its time, by a test's limit. What was executed counts; what was not is named."""
import pathlib
import signal

import pytest

import pairs
from conftest import wait_until
from shop_suite import GETTER, read, report, shop, suite, write_suite

# The first test has a bug under an error. The second one waits: for ever under a fault, or, with a file of that name, without one.
THREE = """
import time
import getter, second, third
def safe(module):
    try:
        return module.get()
    except OSError:
        return 0
def wait(why):
    open(why, "w").close()
    time.sleep(300)
def test_first(): assert safe(getter) == 200
def test_second():
    if os.path.exists("wait"):
        wait("waits")
    if safe(second) != 200:
        wait("waits")
def test_third(): assert third.get() == 200
"""
THREE_SITES = {"getter": GETTER, "second": GETTER, "third": GETTER}  # each test has a call site of its own
STOPPED = "the session was stopped"
TIME_OVER = "the time of --max-time was over"


def interrupted(project, *options):
    """Its exit code, its output, and its report."""
    process = project.start("suite", *options)
    wait_until((project.directory / "waits").exists, "the second test waits")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert errors.endswith("interrupted: run the same command again; it begins anew\n"), errors
    return process.returncode, output, read(project.root)


def the_bug_of_the_first_test(project, found):
    (bug,) = found["clusters"]
    assert (bug["number"], bug["oracle"], bug["test"].rsplit(":", 1)[-1]) == (1, "assertion", "test_first"), bug
    assert pathlib.Path(bug["counterexample"]) == project.root / "counterexamples" / "1.json"
    return bug


def test_an_interrupted_suite_judges_what_it_has_executed_and_names_the_rest(project):
    write_suite(project, THREE, services=shop(), **THREE_SITES)
    code, output, found = interrupted(project, "--policy", "P3")
    bug = the_bug_of_the_first_test(project, found)
    assert (code, found["exit_code"], bug["reproduced"], bug["not_replayed"]) == (1, 1, None, STOPPED), output
    assert [fault["skipped"] for fault in found["faults"]] == ["", STOPPED, STOPPED], found
    for text in ("1. state divergence at ", "not replayed: " + STOPPED, "2 executions: " + STOPPED, "1 likely bug,"):
        assert text in output, output
    (project.directory / "waits").unlink()
    replay = project.filibuster("replay", bug["counterexample"])
    assert replay.exit_code == 1 and "reproduced" in replay.output, replay


def test_a_suite_that_is_interrupted_without_faults_names_the_tests_that_it_has_not_run(project):
    write_suite(project, THREE, services=shop(), **THREE_SITES)
    project.write("wait", "")
    code, output, found = interrupted(project)
    assert (code, found["faults"], found["clusters"]) == (3, [], []), output
    assert [test["left_out"] for test in found["tests"]] == \
        ["", "the session was stopped before its runs without faults were over", "it was not run: " + STOPPED], found
    assert "the session was stopped before anything was planned" in output, output


# With time for replays the rest is named as well.
@pairs.only("id", ["with time for replays"])
@pytest.mark.parametrize("time, replayed", [("1h", True), ("1ms", None)], ids=["with time for replays", "without"])
def test_a_suite_whose_time_is_over_replays_for_a_while_and_names_what_is_left(project, time, replayed):
    # Two executions of each test without faults, and one fault.
    run = suite(project, THREE, "--policy", "P3", "--max-time", time, services=shop(), **THREE_SITES, env={"FILIBUSTER_TIME_UP_AFTER": "7"})
    bug = the_bug_of_the_first_test(project, report(run))
    why = "" if replayed else TIME_OVER + ", and half of it more for replays"
    assert (run.exit_code, bug["reproduced"], bug["not_replayed"]) == (1, replayed, why), run
    assert [fault["skipped"] for fault in report(run)["faults"]] == ["", TIME_OVER, TIME_OVER], run
    assert "2 executions: " + TIME_OVER in run.output, run


def test_a_suite_whose_time_is_over_before_any_fault_names_all_that_was_planned(project):
    run = suite(project, THREE, "--policy", "P3", "--max-time", "1h", services=shop(), **THREE_SITES, env={"FILIBUSTER_TIME_UP_AFTER": "4"})
    assert (run.exit_code, report(run)["exit_code"]) == (4, 4), run
    assert [fault["skipped"] for fault in report(run)["faults"]] == [TIME_OVER, TIME_OVER], run
    assert [test["left_out"] for test in report(run)["tests"]] == ["", "", "it was not run: the time was over"], run
    assert "2 executions: " + TIME_OVER in run.output, run


def test_under_a_bound_each_call_site_gets_its_first_fault_before_any_gets_its_second(project):
    tests = """
import getter, second, third
def passes(module):
    try:
        module.get()
    except OSError:
        pass
def test_two(): passes(getter); passes(second)
def test_one(): passes(third)
"""
    # Four executions without faults, and three with one.
    run = suite(project, tests, "--policy", "P1-reset,P3", "--max-time", "1h", services=shop(), **THREE_SITES, env={"FILIBUSTER_TIME_UP_AFTER": "7"})
    executed = [fault["call_site"].split(":")[0] for fault in report(run)["faults"] if fault["execution"]]
    assert sorted(executed) == ["getter.py", "second.py", "third.py"] and run.exit_code == 4, run


# Clients without a timeout are in test_silences_of_suites.py.
@pairs.only("id", ["a limit of its own"])
@pytest.mark.parametrize("client, then, entry, bounds, said", [
    ("timeout=20", "time.sleep(300)", {"timeout": 6}, None, "the test did not end within 6 s"),
    ("timeout=None", "raise", {}, {"hang_limit": 1}, "test: caller has no timeout (hang limit ")],
    ids=["a limit of its own", "a client without a timeout"])
def test_what_hung_is_said_and_a_limit_of_its_own_is_kept(project, client, then, entry, bounds, said):
    run = suite(project, "from asker import ask\ndef test_it(): assert ask() == 200\n", "--policy", "P1", services=shop(), entry=entry, bounds=bounds,
                asker=f"""
import os, time, urllib.request
def ask():
    try:
        with urllib.request.urlopen(os.environ["SHOP_URL"] + "/ok", {client}) as answer:
            return answer.status
    except OSError:
        {then}
""")
    (fault,) = report(run)["faults"]
    assert (run.exit_code, fault["oracle"]) == (1, "hang") and fault["evidence"].startswith(said), run
    assert "did not end" not in fault["evidence"] or "has no timeout" not in fault["evidence"], run
