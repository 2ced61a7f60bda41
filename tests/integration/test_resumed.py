"""An interrupted exploration goes on with the application that it explored, not with another version of it."""
import json
import os
import signal

import pytest

from by_hand import ByHand
from conftest import PYTHON, Project, wait_until
from processes import events
from small_apps import APPS, config, held, relay, url

HELD = 6  # an execution: the interruption comes before it

# A front that calls what calls.py says, answers 500 (the bug) if one of its calls fails, and reads `data`.
FRONT = f'''
import os, runpy, sys
import calls
sys.argv = ["relay.py", sys.argv[1], "--timeout", "0.5", "--on-failure", calls.ON_FAILURE]
for path in calls.PATHS + open("data").read().split():
    sys.argv += ["--call", "http://127.0.0.1:" + os.environ["PORT_BACK"] + path]
runpy.run_path({str(APPS / "relay.py")!r}, run_name="__main__")
'''
CALLS = 'PATHS = ["/one", "/two"]\nON_FAILURE = "answer500"\n'
MENDED = 'PATHS = ["/one", "/two", "/three"]\nON_FAILURE = "answer503"\n'
TEST = f'import runpy\nrunpy.run_path({str(APPS / "probe.py")!r}, run_name="__main__")\n'
FAULTS = ["500", "503"]


@pytest.fixture
def application(project):
    project.write("front.py", FRONT)
    project.write("calls.py", CALLS)
    project.write("test.py", TEST)
    project.write("data", "")
    test = {"name": "probe", "command": f"exec {PYTHON} test.py 200,503 {url('front')}"}
    project.write("filibuster.json", config(
        [relay("back"), {"name": "front", "command": f"exec {PYTHON} -B front.py ${{port:front}}"}],
        [held(test, HELD)], faults=[{"inject": FAULTS}]))
    return project


def interrupt(project):
    """Runs until some executions are over, then Ctrl-C."""
    hold = project.write("hold", "")
    process = project.start("run", "--no-reduction", "--json")
    for event in events(process):
        if event["type"] == "execution" and event["executed"] >= 3:
            process.send_signal(signal.SIGINT)
            break
    list(events(process))
    assert process.wait(timeout=60) in (1, 3)
    hold.unlink()


def paths(run):
    return {rpc["path"] for rpc in run.test["reference"] if rpc["service"] == "back"}


def begins_anew(run, *words):
    lines = [line for line in run.errors.splitlines() if "begins anew" in line]
    return len(lines) == 1 and all(word in lines[0] for word in words) and "exploring 'probe'" in run.errors


def test_the_bug_mended_and_a_call_added_it_begins_anew_and_says_why(application):
    interrupt(application)
    application.write("calls.py", MENDED)
    run = application.filibuster("run", "--no-reduction")
    assert begins_anew(run, "calls.py has changed"), run
    assert run.exit_code == 0 and run.test["findings"] == [] and paths(run) == {"/one", "/two", "/three"}, run
    assert run.test["finished"] and run.executed == (1 + len(FAULTS)) ** 3, run


# That a file has changed is in test_the_bug_mended_and_a_call_added_it_begins_anew_and_says_why.
@pytest.mark.whole
@pytest.mark.parametrize("name", ["front.py", "test.py"])
def test_a_program_that_the_commands_name_is_another_one(application, name):
    interrupt(application)
    text = (application.directory / name).read_text()
    application.write(name, text + "\n# another version\n")
    run = application.filibuster("run", "--no-reduction")
    assert begins_anew(run, f"{name} has changed"), run
    assert run.exit_code == 1 and run.test["finished"], run


def test_the_same_files_with_other_calls_begin_anew_too(application):
    interrupt(application)
    application.write("data", "/three")
    run = application.filibuster("run", "--no-reduction")
    assert begins_anew(run, "front -> back GET /three"), run
    assert run.test["finished"] and paths(run) == {"/one", "/two", "/three"}, run


# What begins anew with the same files is in the test above.
@pytest.mark.whole
def test_what_was_counted_is_counted_anew(application):
    made = json.loads((application.directory / "filibuster.json").read_text())
    application.write("filibuster.json", {**made, "faults": [{"inject": ["500", "refused"]}]})
    interrupt(application)
    application.write("data", "/three")
    run = application.filibuster("run", "--no-reduction")
    assert begins_anew(run, "front -> back GET /three"), run
    (row,) = run.test["refusals"]
    assert row["refused"] + row["reset"] == 3 * 3 ** 2, row  # each of three RPCs, with all that the others may have


def test_another_configuration_begins_anew_and_says_why(application):
    interrupt(application)
    changed = json.loads((application.directory / "filibuster.json").read_text())
    changed["services"][1]["env"] = {"MODE": "other"}
    application.write("filibuster.json", changed)
    run = application.filibuster("run", "--no-reduction")
    assert begins_anew(run, "configuration"), run


@pytest.mark.whole
def test_what_an_interrupted_exploration_has_not_come_to_is_not_for_an_option_to_accept(application):
    application.write("calls.py", CALLS.replace('"/two"', '"/two", "/three", "/four"'))
    hold = application.write("hold", "")
    process = application.start("run", "--no-reduction")
    wait_until(lambda: process.stderr.readline().startswith("finding 1:"), "an execution has failed")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    hold.unlink()
    assert "interrupted before" in output and "--allow-untested" not in output, output + errors


def test_files_that_were_only_touched_go_on(application):
    interrupt(application)
    for name in ("front.py", "calls.py", "test.py"):
        os.utime(application.directory / name)
    run = application.filibuster("run", "--no-reduction")
    assert "continuing 'probe'" in run.errors and "anew" not in run.errors, run
    assert run.exit_code == 1 and run.test["finished"], run


@pytest.mark.whole
def test_a_path_that_a_mask_leaves_out_may_be_another_one(application):
    application.write("calls.py", 'import os\nPATHS = [f"/orders/{os.getpid()}", "/two"]\nON_FAILURE = "answer500"\n')
    made = json.loads((application.directory / "filibuster.json").read_text())
    made["nondeterminism"] = [{"on": {"service": "back", "path": "/orders/*"}, "mask": {"path": [2]}}]
    application.write("filibuster.json", made)
    interrupt(application)
    run = application.filibuster("run", "--no-reduction")
    assert "continuing 'probe'" in run.errors and "anew" not in run.errors, run
    assert "front -> back GET /orders/*" in run.test["rpcs"]["tested"], run.test["rpcs"]


class FrontByHand(ByHand):
    """front is the program of this folder."""

    def command(self, name, *arguments):
        return super().command(name, *arguments) if name == "back" else [PYTHON, "-B", "front.py", str(self.ports[name])]


@pytest.mark.whole
def test_services_started_by_hand_that_are_other_programs_now_begin_anew(tmp_path):
    programs = Project(tmp_path / "programs")
    for name, text in (("front.py", FRONT), ("calls.py", CALLS), ("data", "")):
        programs.write(name, text)
    project = Project(tmp_path / "explored")
    project.write("test.py", TEST)
    services = FrontByHand(programs.directory, FILIBUSTER_APPLICATION=str(project.directory))
    try:
        made = services.configuration()
        made["tests"] = [held({"name": "probe", "command": f"exec {PYTHON} test.py 200,503 {url('front')}"}, HELD)]
        project.write("filibuster.json", {**made, "faults": [{"inject": FAULTS}]})
        interrupt(project)
        services.restart()
        run = project.filibuster("trace")  # they are known again, and the same
        assert run.exit_code == 0 and "front -> back" in run.output, run
        services.end()
        programs.write("calls.py", MENDED)
        services.restart()
        run = project.filibuster("run", "--no-reduction")
        assert begins_anew(run, "calls.py has changed"), run
        assert run.exit_code == 0 and paths(run) == {"/one", "/two", "/three"}, run
    finally:
        services.end()
        project.end()
