"""The same structured test in each language, with a real session: what it does not state is named in its language, and what it states is
compared. Started plainly, it starts the session itself."""
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import threading
import time

import jsonschema
import pytest

import tutorial
from conftest import BUILD, CORPUS, PYTHON, REPOSITORY
from small_apps import config, relay, url

JUNIT_PLATFORM = pathlib.Path("/usr/share/java/junit-platform-console-standalone.jar")
PROGRAMS = pathlib.Path(__file__).parent / "programs"
SCHEMA = jsonschema.Draft7Validator(json.loads((REPOSITORY / "docs/schema/principled.schema.json").read_text()))
FRONT = {"FRONT": "http://127.0.0.1:${port:front}"}


def python(folder):
    shutil.copy(PROGRAMS / "front.py", folder / "test_front.py")
    return [PYTHON, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "filibuster_principled", "test_front.py"]


def java(folder):
    if not shutil.which("javac") or not JUNIT_PLATFORM.exists():
        pytest.skip(f"NOT TESTED HERE: there is no {JUNIT_PLATFORM} (the package junit5), or no JDK")
    subprocess.run(["javac", "--release", "8", "-Xlint:-options", "-cp", JUNIT_PLATFORM, "-d", folder / "classes",
                    REPOSITORY / "cli/java/FilibusterPrincipled.java", PROGRAMS / "Front.java"], check=True, timeout=120)
    return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"classes:{JUNIT_PLATFORM}",
            "org.junit.platform.console.ConsoleLauncher", "--disable-banner", "-c", "Front"]


def cpp(folder):
    subprocess.run(["g++", "-std=c++17", "-O0", f"-I{REPOSITORY}", f"-I{REPOSITORY}/cli/c", PROGRAMS / "front.cc", "-o", folder / "front",
                    "-lgtest", "-lgtest_main", "-lpthread"], check=True, timeout=120)
    return ["./front"]


FORMS = {"pytest": (python, 'self.assert_fault_throws("GET /", 503'), "junit": (java, 'assertFaultThrows("GET /", 503'),
         "gtest": (cpp, 'assert_fault_throws("GET /", 503')}


def commands(project, *, total, name="front"):
    """A test of commands, whose assertions hold if `total` is what the stub says."""
    test = {"name": name, "env": FRONT, "principled": {
        "execute": [PYTHON, "-c", "import os, urllib.request; urllib.request.urlopen(os.environ['FRONT'])"],
        "assert_test": f"[ ten = {total} ]", "assert_stubs": [{"on": "GET /", "times": 1}],
        "failure": [{"on": "GET /", "throws": 503}, {"on_exception": 503, "assert": "true"}]}}
    stock = {"name": "stock", "stubs": [{"method": "GET", "path": "/", "answer": {"text": "ten"}}]}
    return config([stock, relay("front", "stock")], [test], faults=[{"on": {"caller": "front"}, "inject": ["status:503"]}])


def test_it_runs_again_whenever_a_file_changes(project):
    project.write("filibuster.json", commands(project, total="nine"))
    watching = project.start("principled", "--watch")

    def until(words):
        for line in watching.stderr:
            if words in line:
                return
        raise AssertionError(f"it ended before it said '{words}'")

    until("without faults: block-failed")
    until("waiting for a change")
    project.write("filibuster.json", commands(project, total="ten"))
    until("filibuster.json has changed")
    until("GET /: status:503: as stated")
    until("waiting for a change")
    watching.send_signal(signal.SIGINT)
    output, _ = watching.communicate(timeout=30)
    assert watching.returncode == 0 and "2 executions, and all that is stated holds" in output, output


def test_a_file_that_each_run_writes_is_no_reason_for_another_one(project):
    written = commands(project, total="ten")
    written["tests"][0]["principled"]["setup"] = "sleep 1; date +%s%N > answer.json"
    project.write("filibuster.json", written)
    watching = project.start("principled", "--watch")
    lines = []
    threading.Thread(target=lambda: [lines.append(line) for line in watching.stderr], daemon=True).start()

    def said(words):
        return sum(words in line for line in lines)

    def until(words, times=1):
        deadline = time.monotonic() + 30
        while said(words) < times:
            assert time.monotonic() < deadline, (words, lines)
            time.sleep(0.05)

    try:
        until("answer.json changes in each run")
        until("waiting for a change", times=2)
        time.sleep(1.5)
        assert said("waiting for a change") == 2 and said("has changed") == 1, lines
        # What the user writes while a run goes on makes it run again.
        project.write("filibuster.json", json.dumps(written) + " ")
        until("without faults: as stated", times=3)
        project.write("note", "x")
        until("note has changed")
        until("waiting for a change", times=4)
        assert said("answer.json changes in each run") == 1, lines
    finally:
        watching.send_signal(signal.SIGINT)
        watching.wait(timeout=30)


def test_the_time_is_over_before_a_program_asks(project):
    command = "sleep 2; exec " + shlex.join(map(str, python(project.directory)))
    project.write("filibuster.json", config([relay("front")], [{"name": "front", "principled": True, "command": command, "env": {**FRONT, "PYTHONPATH": str(REPOSITORY / "cli/python")}}]))
    run = project.filibuster("principled", "--max-time", "2s")
    assert run.exit_code == 4 and "test 'front': not begun, since the time of --max-time was over" in run.output, run
    SCHEMA.validate(json.loads((run.root / "principled.json").read_text()))


def test_tests_with_blocks_are_for_this_verb_alone(project):
    project.write("filibuster.json", commands(project, total="ten"))
    run = project.filibuster("run")
    assert run.exit_code == 2 and "run the others by `filibuster principled`" in run.errors, run
    plain = config([relay("front")], [{"name": "plain", "command": "true"}])
    project.write("filibuster.json", plain)
    run = project.filibuster("principled", "--test", "plain")
    assert run.exit_code == 2 and "test 'plain' has a command: run it by `filibuster run`" in run.errors, run


@pytest.mark.parametrize("variable, kind, said", [("MISPLACED", "used-outside-its-block", "it belongs to the block assert_stubs"),
                                                  ("DIES", "test-ended-in-a-block", "exit status 3")])
def test_what_only_a_program_can_do_wrong(project, variable, kind, said):
    test = {"name": "front", "principled": True, "command": python(project.directory),
            "env": {**FRONT, "PYTHONPATH": f"{REPOSITORY}/cli/python", variable: "1"}}
    project.write("filibuster.json", config([{"name": "stock", "stubs": []}, relay("front", "stock")], [test]))
    run = project.filibuster("principled")
    (execution,) = json.loads((run.root / "principled.json").read_text())["tests"][0]["executions"]
    assert run.exit_code == 1 and execution["diagnostic"]["kind"] == kind and said in execution["diagnostic"]["text"], run


@pytest.mark.parametrize("form", FORMS)
def test_a_test_states_what_it_says(project, form):
    make, snippet = FORMS[form]
    command = make(project.directory)
    environment = {**FRONT, "PYTHONPATH": f"{REPOSITORY}/cli/python"}
    test = {"name": "front", "principled": True, "command": command, "env": environment}
    faults = [{"on": {"caller": "front"}, "inject": ["status:503"]}]
    project.write("filibuster.json", config([{"name": "stock", "stubs": []}, relay("front", "stock")], [test], faults=faults))

    run = project.filibuster("principled")
    report = json.loads((run.root / "principled.json").read_text())
    SCHEMA.validate(report)
    (tested,) = report["tests"]
    assert run.exit_code == 1 and tested["form"] == form, run
    assert [one["name"] for one in tested["executions"]] == ["without faults", "GET /: status:503"], run
    found = tested["executions"][1]["diagnostic"]
    assert found["kind"] == "thrown-exception-unspecified" and found["remedies"][0]["snippet"].startswith(snippet), found

    project.write("filibuster.json", config([{"name": "stock", "stubs": []}, relay("front", "stock")],
                                            [{**test, "env": {**environment, "STATED": "1"}}], faults=faults))
    run = project.filibuster("principled")
    (tested,) = json.loads((run.root / "principled.json").read_text())["tests"]
    assert run.exit_code == 0 and tested["passed"] and tested["finished"] and len(tested["executions"]) == 2, run

    # As an IDE starts it. What the configuration's own test has in its environment is that of the program in the session, too.
    path = f"{BUILD / 'bin'}:{os.environ['PATH']}"
    plainly = subprocess.run(command, cwd=project.directory, text=True, capture_output=True, timeout=60,
                             env={**os.environ, "PATH": path, "PYTHONPATH": f"{REPOSITORY}/cli/python"})
    assert plainly.returncode == 0, plainly
    for name in ("without faults", "GET /: status:503"):
        assert name in plainly.stdout, plainly


@pytest.mark.whole  # 32 executions, whose statements are those of the last step of test_tutorial.py
def test_a_larger_test_inherits_from_another(project):
    if not shutil.which("redis-cli"):
        pytest.skip("NOT CHECKED: redis is not installed")
    files = CORPUS / "purchase" / "principled"
    for name in ("order_test.py", "discounts_test.py"):
        shutil.copy(files / name, project.directory)
    text = (files / "discounts_program.json").read_text()
    project.write("discounts.json", text.replace("../../../build", str(BUILD)).replace("../../../cli", f"{REPOSITORY}/cli"))
    run = project.filibuster("principled", "-c", "discounts.json")
    report = json.loads((run.root / "principled.json").read_text())
    assert run.exit_code == 0 and tutorial.said(report) == (tutorial.HOLDS, 32), run
