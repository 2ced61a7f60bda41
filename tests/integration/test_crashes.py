"""Services that crash: under a fault a finding, without one the end of the session."""
import os
import subprocess

import pytest

from conftest import PRELOAD, PROGRAMS, accepts, free_port, wait_until
from small_apps import PROBE, RELAY, config, pair, probe, relay, url


@pytest.mark.parametrize("how, signal_name", [("abort", "SIGABRT"), ("segv", "SIGSEGV")])
def test_a_service_that_crashes_under_a_fault_is_a_finding_with_its_signal(project, how, signal_name):
    project.write("filibuster.json", pair(f"--on-failure {how}"))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    assert run.executed == 6 and run.test["finished"], "the exploration goes on after each crash"
    assert len(run.test["findings"]) == 5
    for finding in run.test["findings"]:
        assert finding["first"]["verdict"] == "crashed"
        assert "front" in finding["first"]["detail"] and signal_name in finding["first"]["detail"]
        assert finding["reproduced"] is True
    assert f"front ended by {signal_name}" in run.output or f"front {signal_name}" in run.output, run
    # Once more for each execution that a crash ended, and its replay.
    assert run.errors.count("service front ready") >= 10, run
    replay = project.filibuster("replay", run.counterexamples[0])
    assert replay.exit_code == 1 and signal_name in replay.output, replay
    if how == "segv":
        assert "about to crash" in run.test["findings"][0]["first"]["output"]
        assert "about to crash" in replay.output, replay


def test_a_service_that_exits_under_a_fault_is_a_finding_with_its_status(project):
    project.write("filibuster.json", pair("--on-failure exit", faults=[{"inject": "503"}]))
    run = project.filibuster("run")
    assert run.exit_code == 1, run
    (finding,) = run.test["findings"]
    assert finding["first"]["verdict"] == "crashed" and "7" in finding["first"]["detail"], finding


def test_a_service_that_must_not_be_restarted_ends_the_session_when_it_crashes(project):
    made = pair("--on-failure abort", faults=[{"inject": "503"}])
    made["services"][1]["restart"] = "never"
    project.write("filibuster.json", made)
    run = project.filibuster("run")
    assert run.exit_code == 1 and not run.test["finished"], run  # what was found stands
    assert "'front' ended" in run.errors and "restart: never" in run.errors, run


def test_a_service_that_crashes_without_any_fault_is_named_with_its_log(project):
    project.write("filibuster.json", config(
        [relay("front", f"http://127.0.0.1:{free_port()}/", options="--on-failure segv")], [probe(url("front"))]))
    run = project.filibuster("run")
    assert run.exit_code == 3, run
    assert "without any fault" in run.errors and "front" in run.errors, run
    assert "SIGSEGV" in run.errors and "about to crash" in run.errors, run


def test_a_service_started_by_hand_that_crashes_is_a_finding_and_the_same_command_goes_on(project):
    """Nobody but the user can start it again: the session stops and says so."""
    back, front = free_port(), free_port()
    project.write("filibuster.json", config(
        [{"name": "back", "command": f"exec {RELAY} {back}", "ports": {"back": back}},
         {"name": "front", "ports": {"front": front}}],
        [probe(f"http://127.0.0.1:{front}/", expected="200,503")], faults=[{"inject": ["500", "503"]}]))

    def start_front():
        process = subprocess.Popen(
            [PROGRAMS / "relay", str(front), "--on-failure", "segv", "--call", f"http://127.0.0.1:{back}/"],
            cwd=project.directory, env={**os.environ, "LD_PRELOAD": str(PRELOAD), "FILIBUSTER_SERVICE": "front"},
            stdout=subprocess.DEVNULL, start_new_session=True)
        project.started.append(process)
        wait_until(lambda: accepts(front), "front listens")

    for findings in (1, 2):
        start_front()
        run = project.filibuster("run")
        assert run.exit_code == 1 and not run.test["finished"], run
        assert len(run.test["findings"]) == findings, run
        for finding in run.test["findings"]:
            assert "front (started by hand) ended" in finding["first"]["detail"], run
            assert finding["reproduced"] is None, "there was nothing to replay it on"
        assert "start it again, and the same command goes on" in run.errors, run
    start_front()
    run = project.filibuster("run")
    assert run.exit_code == 1 and run.test["finished"] and run.executed == 3, run


def test_a_shell_finds_the_predicate_without_an_installation(project):
    project.write("test.sh", "filibuster was-fault-injected --service back && exit 0\n"
                             f"{PROBE} 200 http://127.0.0.1:$PORT_FRONT/\n")
    made = pair(faults=[{"inject": "503"}])
    made["tests"] = [{"name": "shell", "command": "sh test.sh"}]
    project.write("filibuster.json", made)
    run = project.filibuster("run", env={"PATH": "/usr/bin:/bin"})
    assert "not found" not in run.output + run.errors, run
